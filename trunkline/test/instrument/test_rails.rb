# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/subprocess"

# Tests the log of a Rails application, which runs in a separate process.
class TestRails < TrunklineTest
  def log_of(level)
    server = serve
    lib = File.expand_path("../../lib", __dir__)
    program = File.expand_path("rails_application.rb", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I", lib, program, server.url, level)
    assert_predicate status, :success?, output
    [output, server.address]
  end

  def test_lines_of_calls_and_of_actions
    log, address = log_of("debug")
    paths = log.scan(%r{^\[tag\] GET #{address}/(\w+)\S* 200 in \d+ ms \(.*first byte \d+.*\)$}).flatten
    assert_equal %w[four one three two], paths.sort, log
    assert_match(/Completed 200 OK in \d+ms \(.*HTTP: \d+ ms \(4 calls\).*\)/, log)
    assert_equal 1, log.scan("HTTP: ").size, "an action without calls says nothing"
    refute_includes log, "secret"
  end

  def test_a_production_log_has_no_lines_of_calls
    log, address = log_of("info")
    refute_includes log, address
    assert_match(/HTTP: \d+ ms \(4 calls\)/, log)
  end
end
