# frozen_string_literal: true

# What a name server may do wrong, as rows of docs/safety.md. test_name_cases.rb runs them in a network of their own.
module HostileNames
  # does: for the page. expected: the name of the error. options: of the call. script: code, since it runs in another
  # process; it gives the answer's records as [type, bytes], nil for no answer, or the answer itself.
  Case = Struct.new(:does, :expected, :options, :script, keyword_init: true)

  ALL = {
    hangs: Case.new(does: "no answer", expected: :ResolveTimeout, script: "nil",
                    options: { timeout: { resolve: 0.3, total: 5 } }),
    knows_nothing: Case.new(does: "an answer without addresses", expected: :ResolveError, script: "[]"),
    garbage: Case.new(does: "bytes that are no answer", expected: :ResolveError, script: "'garbage'"),
    another_query: Case.new(does: "an answer to another query", expected: :ResolveTimeout, script: ":another",
                            options: { timeout: { resolve: 0.3, total: 5 } }),
    short_address: Case.new(does: "an address of 3 bytes", expected: :ResolveError, script: '[[1, "\x7f\0\0"]]'),
    private_address: Case.new(does: "an address within the machine, with `egress:`", expected: :EgressRefused,
                              options: { egress: { allow: ["127.0.0.1"] } },
                              script: "[[1, [127, 0, 0, 9].pack('C4')]]"),
    thousand_addresses: Case.new(does: "a thousand addresses where nobody listens", expected: :ConnectError,
                                 script: "Array.new(1000) { |n| [1, [127, 1, n / 250, 1 + n % 250].pack('C4')] }")
  }.freeze
end
