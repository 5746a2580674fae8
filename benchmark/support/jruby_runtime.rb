# frozen_string_literal: true

require "bundler"
require_relative "../../rakelib/support/chroot"
require_relative "../../rakelib/support/jruby"

module Bench
  # The JRuby whose peers are measured: with all of Java's compilers, and kept outside the checkout. It has
  # invokedynamic, which is JRuby 10's default.
  JAVA = "-Xmx512m -Djruby.compile.invokedynamic=true"
  JRUBY = JRuby.new("#{Chroot::HOME}/jruby-bench", java: JAVA, gemfile: <<~RUBY)
    source "https://rubygems.org"
    gem "manticore", "~> 0.9"
  RUBY
  private_constant :JAVA

  # For a Peer whose worker runs on JRuby.
  module OnJRuby
    def runtime = JRUBY
    def ours? = false

    # Those of JRuby are told by the benchmark's page.
    def versions(_process) = "JRuby #{JRuby::VERSION}"
  end
end
