# frozen_string_literal: true

require "bundler"
require_relative "../../rakelib/support/chroot"
require_relative "../../rakelib/support/jruby"

module Bench
  # The JRuby whose peers are measured: with all of Java's compilers, and kept outside the checkout.
  JRUBY = JRuby.new("#{Chroot::HOME}/jruby-bench", java: "-Xmx512m", gemfile: <<~RUBY)
    source "https://rubygems.org"
    gem "manticore", "~> 0.9"
  RUBY

  # For a Peer whose worker runs on JRuby.
  module OnJRuby
    def runtime = JRUBY
    def ours? = false

    # Those of JRuby are told by the benchmark's page.
    def versions(_process) = "JRuby #{JRuby::VERSION}"
  end
end
