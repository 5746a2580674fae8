# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/own_names"
require_relative "name_cases"

# The cases of a bad name server, in a network of their own and in one process: see name_calls.rb.
class TestHostileNameCases < TrunklineTest
  CALLS = [RbConfig.ruby, "-I", Subprocess::LIB, "-I", File.expand_path("..", __dir__),
           File.join(__dir__, "name_calls.rb")].freeze

  def test_each_of_them
    skip "namespaces (unshare, ip) are not to be had here" unless OwnNames.available?
    result = OwnNames.run_command(CALLS)
    assert_predicate result.status, :success?, result.out + result.err
    runs = HostileNames::ALL.size * 6 # by calls and through the facades, over each of three
    assert_match(/^#{runs} runs, \d+ assertions, 0 failures, 0 errors, 0 skips/, result.out)
  end
end
