# frozen_string_literal: true

# The version of net-http that came with Ruby 3.1, for processes outside of the bundle, which contains the newest one.
module OldNetHTTP
  VERSION = "0.2.0"
  # The exit status of a program that did not find this version.
  MISSING = 77
  ENVIRONMENT = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLER_SETUP" => nil }.freeze
  # The first lines of a program that uses this version.
  PRELUDE = <<~RUBY.freeze
    begin
      gem "net-http", "#{VERSION}"
    rescue LoadError
      exit! #{MISSING}
    end
    require "net/http"
    abort "another edition was loaded" unless Net::HTTP::VERSION == "#{VERSION}"
  RUBY
end
