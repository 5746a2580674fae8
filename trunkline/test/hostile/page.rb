# frozen_string_literal: true

require "json"
require_relative "cases"
require_relative "../soak/page"
require_relative "http2_cases"
require_relative "hyper"
require_relative "llhttp"
require_relative "dns_cases"
require_relative "timeout_cases"

# docs/safety.md, made from the tables of cases, the results of `trunkline-lab safety`, and the results of the kept
# soak.
module HostilePage
  KEPT = File.join(__dir__, "peers.json")
  INTRODUCTION = <<~TEXT
    # Safety

    Faults of a server, and what the caller gets. Each case is a scripted server in
    `trunkline-lab/lib/trunkline/lab/faults/`. The tests run it with and without TLS, by a single call, in a batch, as a
    future, in a fiber, and, if it needs no option, through Faraday, Net::HTTP and Typhoeus (Net::HTTP has HTTP/1.1 only).
    After each case, another call of the same client must succeed. Net::HTTP and Typhoeus accept more from a server than
    the client does, and their users still get that. `rake safety:docs` writes this page, and a test compares it with the
    table of cases.

    SECURITY.md lists the guarantees beyond these cases. More faults of HTTP/2, with their effect on the connection, are
    in `trunkline/test/http2/test_hostile.rb`.

    A call to a server or name server that is dead, silent or endless, or a caller that sleeps while it holds a response,
    delays the other callers of the client by at most 50 ms: `trunkline/test/hostile/test_isolation.rb` tests each pair.

    ## How to read the tables

    "The caller gets" is what the tests require of Trunkline. The columns after it are the results of `trunkline-lab safety`
    with each client and the same servers; anybody can run it again with the clients that are installed (`trunkline-lab
    install` installs them). Each client makes one call with its defaults and a timeout of %<timeout>s s, without TLS unless
    the fault concerns TLS or HTTP/2, and then a call to a working server.

    | word | what it means |
    |---|---|
    | answer | the intended body; where the call should fail: it succeeded |
    | N bytes | a body that is neither the intended one nor the bytes that were sent |
    | as sent | the bytes as they were sent: the client does not decode content codings |
    | error | the call raised; with its duration if that was most of the timeout or longer |
    | sent 2 times | the client repeated the request by itself, on a reused connection that had ended |
    | next call | the call to the working server failed, or got the response to another request |
    | no end | the call took longer than %<limit>s s, and its process was killed |
    | crash | the client's process ended |
    | - | not tried: the client follows no redirects, does not speak HTTP/2, cannot make such a call, or %<reasons>s |

    Other programs used the machine's two cores, too, so some durations are too long, and a client under a flood of data may
    look hung. `trunkline-lab safety` on a quiet machine is more reliable.

    %<versions>s.
  TEXT

  STALLS = <<~TEXT
    From one point on the server sends nothing more, over plain HTTP/1.1, TLS and HTTP/2, with the caller's or the facade's
    limits (`timeout_cases.rb`). Name servers are in the next section.
  TEXT

  NAMES = <<~TEXT
    Calls whose host name is resolved by a faulty name server (`dns_calls.rb`). No request is sent.
  TEXT

  H2SPEC = <<~TEXT

    ## h2spec

    All 57 cases of h2spec (github.com/summerwind/h2spec, `h2specd`) for clients pass, with both engines
    (`rake safety:h2spec`). Each case makes two calls over one connection, because the client reads what a server sends after
    a response only when the next call reads the connection.
  TEXT

  module_function

  # @return [String]
  def text
    rows = [*HostileCases::ALL, *HostileHTTP2::ALL]
    groups = rows.group_by(&:group).map { |name, cases| "\n## #{name}\n\n#{with_clients(cases)}" }
    names = HostileDNS::ALL.each_value.map { |row| [row.does, "`#{row.expected}`"] }
    "#{introduction}#{groups.join}#{stalls}\n## Name servers\n\n#{NAMES}\n#{table(names)}#{others_tests}" \
      "#{SoakPage.text}"
  end

  def stalls
    rows = HostileTimeouts::ALL.each_value.map do |row|
      [row.does, "`#{row.expected}`#{"; over HTTP/2 `#{row.h2}`" if row.h2}"]
    end
    "\n## Silence in each phase\n\n#{STALLS}\n#{table(rows)}"
  end

  def introduction
    reasons = HostileCases::Faults::ALL.filter_map(&:untried).uniq
    versions = kept["clients"].map { |client| "#{client["label"]} (#{client["version"]})" }.join(", ")
    format(INTRODUCTION, timeout: kept["timeout"], limit: kept["limit"], reasons: reasons.join(", or "),
                         versions: "Tried on #{kept["date"]}: #{versions}")
  end

  def kept = JSON.parse(File.read(KEPT))

  def with_clients(rows)
    clients = kept["clients"]
    table(rows.map { |row| [does(row), outcome(row), *clients.map { |client| client["told"].fetch(row.name.to_s) }] },
          *clients.map { |client| client["label"] })
  end

  def does(row) = "#{row.does}#{" (TLS)" if row.only}"

  # The differences found by other parsers' own tests, and the result of h2spec.
  def others_tests
    llhttp = LlhttpCases::REASONS.map { |name, reason| "| #{name.sub(": ", ": \"")}\" | #{reason} |" }
    hyper = HyperCases::REASONS.map { |name, reason| "| #{name} | #{reason} |" }
    "\n## Other parsers' tests\n\nBoth engines accept and refuse the responses in llhttp's tests (9.4.2) and hyper's " \
      "tests (1.11.0) as these parsers\ndo (`rake safety:llhttp`, `rake safety:hyper`), with these exceptions:\n\n" \
      "| llhttp's file, and case | why |\n|---|---|\n#{llhttp.join("\n")}\n\n" \
      "| hyper's file, and case | why |\n|---|---|\n#{hyper.join("\n")}\n#{H2SPEC}"
  end

  def table(rows, *clients)
    columns = ["the server sends", "the caller gets", *clients]
    rule = "|#{"---|" * columns.size}"
    ["| #{columns.join(" | ")} |", rule, *rows.map { |cells| "| #{cells.join(" | ")} |" }].join("\n") << "\n"
  end

  def outcome(row)
    more = { "Net::HTTP" => row.net_http, "Typhoeus" => row.typhoeus }.compact
    others = more.map { |library, taken| "#{library}'s users get #{outcome_in_words(taken)}" }
    others << "the next call may get `InvalidResponse`, the one after it succeeds" if row.late
    [row.fails? ? "`#{row.expected}`" : "the response, without the bytes after it", *others].join("; ")
  end

  # @param taken [true, Symbol, String] see Case
  def outcome_in_words(taken)
    case taken
    when true then "the response"
    when String then "a part of it, as from Ruby's Net::HTTP"
    else "`#{taken}`"
    end
  end
end
