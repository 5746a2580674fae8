# frozen_string_literal: true

require_relative "test_helper"

# The edition of net-http that came with Ruby 3.1 runs the same tests as the newest one, which the bundle has.
class TestNetHTTPEditions < TrunklineTest
  time_limit 120

  OLDEST = "0.2.0"
  MISSING = 77
  WITHOUT_BUNDLE = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil }.freeze
  # That edition warns of a default that it sets itself.
  PROGRAM = <<~RUBY.freeze
    begin
      gem "net-http", "#{OLDEST}"
    rescue LoadError
      exit! #{MISSING}
    end
    require "#{File.join(__dir__, "test_net_http.rb")}"
    $VERBOSE = false
    abort "another edition was loaded" unless Net::HTTP::VERSION == "#{OLDEST}"
  RUBY

  def test_the_oldest_edition
    command = [RbConfig.ruby, "-I", Subprocess::LIB, "-e", PROGRAM]
    out, err, status = Subprocess.run_command(WITHOUT_BUNDLE, command, 110)
    skip "net-http #{OLDEST} is not installed" if status.exitstatus == MISSING

    assert_predicate status, :success?, "#{out}#{err}"
    assert_match(/ 0 failures, 0 errors, 0 skips/, out)
  end
end
