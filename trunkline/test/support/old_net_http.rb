# frozen_string_literal: true

# The edition of net-http that came with Ruby 3.1, in processes outside of the bundle, which has the newest one.
module OldNetHTTP
  VERSION = "0.2.0"
  # The status of a program that did not find it.
  MISSING = 77
  ENVIRONMENT = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLER_SETUP" => nil }.freeze
  # What such a program begins with.
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
