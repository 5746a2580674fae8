# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/old_net_http"

# Runs test_net_http.rb with the net-http of Ruby 3.1; the bundle contains the newest net-http.
class TestNetHTTPVersions < TrunklineTest
  # The old net-http warns about a default that it sets itself.
  PROGRAM = <<~RUBY.freeze
    #{OldNetHTTP::PRELUDE}
    require "#{File.join(__dir__, "test_net_http.rb")}"
    $VERBOSE = false
  RUBY

  def test_the_oldest_edition
    command = [RbConfig.ruby, "-I", Subprocess::LIB, "-e", PROGRAM]
    out, err, status = Subprocess.run_command(OldNetHTTP::ENVIRONMENT, command)
    skip "net-http #{OldNetHTTP::VERSION} is not installed" if status.exitstatus == OldNetHTTP::MISSING

    assert_predicate status, :success?, "#{out}#{err}"
    assert_match(/ 0 failures, 0 errors, 0 skips/, out)
  end
end
