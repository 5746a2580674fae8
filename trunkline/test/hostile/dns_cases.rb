# frozen_string_literal: true

# Faults of a name server, as rows of docs/safety.md. dns_calls.rb runs them in a separate network namespace.
module HostileDNS
  # does: for the page. expected: the name of the error. hangs: whether the limit for resolving is short. egress: of the
  # client. answer: the block for NameServer.
  Case = Struct.new(:does, :expected, :hangs, :egress, :answer, keyword_init: true) do
    # @return [Numeric] the limit for resolving in seconds
    def limit = hangs ? 0.3 : AMPLE

    # @return [Hash] options of the client
    def options = { egress: egress, timeout: { resolve: limit, total: AMPLE } }.compact
  end

  AMPLE = 20 # seconds, for calls that must not run into a limit
  A = 1

  ALL = {
    hangs: Case.new(does: "no answer", expected: :ResolveTimeout, hangs: true, answer: -> {}),
    knows_nothing: Case.new(does: "an answer without addresses", expected: :ResolveError, answer: -> { [] }),
    garbage: Case.new(does: "bytes that are no answer", expected: :ResolveError, answer: -> { "garbage" }),
    another_query: Case.new(does: "an answer to another query", expected: :ResolveTimeout, hangs: true,
                            answer: -> { :another }),
    short_address: Case.new(does: "an address of 3 bytes", expected: :ResolveError,
                            answer: -> { [[A, "\x7f\0\0"]] }),
    private_address: Case.new(does: "an address within the machine, with `egress:`", expected: :EgressRefused,
                              egress: { allow: ["127.0.0.1"] }.freeze,
                              answer: -> { [[A, [127, 0, 0, 9].pack("C4")]] }),
    thousand_addresses: Case.new(does: "a thousand addresses where nobody listens", expected: :ConnectError,
                                 answer: lambda do
                                   Array.new(1000) { |n| [A, [127, 1, n / 250, 1 + (n % 250)].pack("C4")] }
                                 end)
  }.freeze
end
