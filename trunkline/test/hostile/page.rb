# frozen_string_literal: true

require "json"
require_relative "cases"
require_relative "../soak/page"
require_relative "http2_cases"
require_relative "hyper"
require_relative "llhttp"
require_relative "name_cases"
require_relative "stall_cases"

# docs/safety.md, made of the table of cases, of what `trunkline-lab safety` saw, and of the kept soak.
module HostilePage
  KEPT = File.join(__dir__, "peers.json")
  INTRODUCTION = <<~TEXT
    # Safety

    What a server may do wrong, and what the caller gets. Each case is a scripted server in
    `trunkline-lab/lib/trunkline/lab/faults/`; the tests run it without TLS and with it, by a single call, in a batch, as a
    future, in a fiber, and, where it needs no option, through Faraday, Net::HTTP and Typhoeus (Net::HTTP's users have
    HTTP/1.1 alone). After each, another call of the same client must be answered. Net::HTTP and Typhoeus take more from a
    server than the client, and their users still get that. `rake safety:docs` writes this page, and a test compares it
    with the table.

    What is promised beyond these cases is in SECURITY.md. More faults of HTTP/2, with what becomes of the connection, are
    in `trunkline/test/http2/test_hostile.rb`.

    A caller whose server or name server is dead, silent or endless, or who sleeps with an answer in its hands, costs no
    other caller of the client more than 50 ms: `trunkline/test/hostile/test_neighbours.rb` has a test for each pair of them.

    ## How to read the tables

    "The caller gets" is what the tests demand of Trunkline. The columns behind it are what each client did with the same
    servers, as `trunkline-lab safety` saw it; anybody can run it again, with the clients that are installed
    (`trunkline-lab install` gets them). One call by each client's defaults with a timeout of %<timeout>s s, without TLS
    where the fault is not one of TLS or of HTTP/2, and then a good call by the same client.

    | word | what it means |
    |---|---|
    | answer | the body that was meant; where the call should fail, "ok" all the same |
    | N bytes | a body that is neither that nor what was sent |
    | as sent | the bytes as they came: the client leaves codings to its caller |
    | error | the call raised; with seconds when that took most of its timeout or longer |
    | sent 2 times | the client repeated the request by itself, on a kept connection that had ended |
    | next call | the good call that followed failed, or got another answer than its own |
    | no end | the call lasted longer than %<limit>s s, and its process was killed |
    | crash | the process of the client ended |
    | - | not tried: the client follows no redirects, does not speak HTTP/2, cannot make such a call, or %<reasons>s |

    The machine had two cores that other programs used, too: seconds are late at times, and a client beside a flood may
    look hung. On a quiet machine `trunkline-lab safety` is the better witness.

    %<versions>s.
  TEXT

  STALLS = <<~TEXT
    From one point on nothing more comes, over plain HTTP/1.1, TLS and HTTP/2, with limits of the caller's or of the
    facade's own (`stall_cases.rb`); name servers are further down.
  TEXT

  NAMES = <<~TEXT
    The same calls, by a name that a bad name server is asked for (`name_calls.rb`). Nothing is sent.
  TEXT

  H2SPEC = <<~TEXT

    ## h2spec

    All 57 cases that h2spec (github.com/summerwind/h2spec, `h2specd`) has for clients pass, with both engines
    (`rake safety:h2spec`). Two answers of a case over one connection are asked for, since what a server sends behind an
    answer is read when the next call reads the connection.
  TEXT

  module_function

  # @return [String]
  def text
    rows = [*HostileCases::ALL, *HostileHTTP2::ALL]
    groups = rows.group_by(&:group).map { |name, cases| "\n## #{name}\n\n#{with_clients(cases)}" }
    names = HostileNames::ALL.each_value.map { |row| [row.does, "`#{row.expected}`"] }
    "#{introduction}#{groups.join}#{stalls}\n## Name servers\n\n#{NAMES}\n#{table(names)}#{others_tests}" \
      "#{SoakPage.text}"
  end

  def stalls
    rows = HostileStalls::ALL.each_value.map do |row|
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

  # What other parsers' own tests found, and h2spec.
  def others_tests
    llhttp = LlhttpCases::REASONS.map { |name, reason| "| #{name.sub(": ", ": \"")}\" | #{reason} |" }
    hyper = HyperCases::REASONS.map { |name, reason| "| #{name} | #{reason} |" }
    "\n## Other parsers' tests\n\nThe responses in llhttp's own tests (9.4.2) and in hyper's (1.11.0) are read by " \
      "both engines as these read\nthem, and refused as they refuse them (`rake safety:llhttp`, " \
      "`rake safety:hyper`), but for these.\n\n" \
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
    others = more.map { |library, taken| "#{library}'s users get #{told(taken)}" }
    others << "a call behind it may get `InvalidResponse`, the one behind that is answered" if row.late
    [row.fails? ? "`#{row.expected}`" : "the answer, and nothing of what follows it", *others].join("; ")
  end

  # @param taken [true, Symbol, String] see Case
  def told(taken)
    case taken
    when true then "the answer"
    when String then "a part of it, as from Ruby's own"
    else "`#{taken}`"
    end
  end
end
