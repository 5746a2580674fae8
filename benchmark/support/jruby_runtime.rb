# frozen_string_literal: true

require "bundler"
require_relative "../../rakelib/support/chroot"
require_relative "../../rakelib/support/jruby"

module Bench
  # The JRuby on which peers are measured, kept outside the checkout: with all of Java's compilers, and with
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
    def trunkline? = false

    # The versions of the gems on JRuby are listed by the benchmark's page.
    def versions(_process) = "JRuby #{JRuby::VERSION}"
  end
end
