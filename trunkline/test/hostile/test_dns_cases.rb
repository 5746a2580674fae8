# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/network_namespace"
require_relative "dns_cases"

# Runs the cases of a bad name server, in a separate network namespace and in one process: see dns_calls.rb.
class TestHostileDNSCases < TrunklineTest
  CALLS = [RbConfig.ruby, "-I", Subprocess::LIB, "-I", File.expand_path("..", __dir__),
           File.join(__dir__, "dns_calls.rb")].freeze

  def test_each_dns_case_in_a_network_namespace
    skip "namespaces (unshare, ip) are not to be had here" unless NetworkNamespace.available?
    result = NetworkNamespace.run_command(CALLS)
    assert_predicate result.status, :success?, result.out + result.err
    runs = HostileDNS::ALL.size * 6 # directly and through the facades, each over plain, TLS and HTTP/2
    assert_match(/^#{runs} runs, \d+ assertions, 0 failures, 0 errors, 0 skips/, result.out)
  end
end
