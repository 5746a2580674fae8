# frozen_string_literal: true

require "json"
require_relative "cases"
require_relative "../soak/page"
require_relative "http2_cases"
require_relative "llhttp"
require_relative "name_cases"

# docs/safety.md, made of the table of cases and of the kept soak.
module HostilePage
  INTRODUCTION = <<~TEXT
    # Safety

    What a server may do wrong, and what the caller gets. Each case is a scripted server in
    `trunkline/test/hostile/cases.rb` or, for HTTP/2, `http2_cases.rb`; the tests run it without TLS and with it, by a
    single call, in a batch, as a future, in a fiber, and, where it needs no option, through Faraday, Net::HTTP and Typhoeus
    (Net::HTTP's users have HTTP/1.1 alone). After each, another call of the same client must be answered. Net::HTTP and
    Typhoeus take more from a server than the client, and their users still get that. `rake safety:docs` writes this page,
    and a test compares it with the table.

    What is promised beyond these cases is in SECURITY.md. More faults of HTTP/2, with what becomes of the connection, are
    in `trunkline/test/http2/test_hostile.rb`. What other clients do with some of these: `trunkline-lab safety`.

    A caller whose server or name server is dead, silent or endless, or who sleeps with an answer in its hands, costs no
    other caller of the client more than 50 ms: `trunkline/test/hostile/test_neighbours.rb` has a test for each pair of them.
  TEXT

  PEERS = <<~TEXT
    The same servers over HTTP/1.1, without TLS, for a GET by each client with a timeout of 2 s (`rake safety:peers` tries
    them again). "error": the call raised, by its own limits or its timeout; `trunkline/test/hostile/peers.json` has the
    classes. "answer": the body `ok`. "no end": the call lasted longer than 6 s and its process was killed. "crash": its
    process died. A client that leaves codings to its caller gives the bytes as they came. What needs a second call, TLS or
    an endless body was not tried.
  TEXT

  module_function

  # @return [String]
  def text
    tables = [*HostileCases::ALL, *HostileHTTP2::ALL].group_by(&:group).map { |name, rows| "\n## #{name}\n\n#{table(rows)}" }
    handshakes = HostileCases::HANDSHAKES.each_value.map { |does, expected| "| #{does} | `#{expected}` |" }
    names = HostileNames::ALL.each_value.map { |row| "| #{row.does} | `#{row.expected}` |" }
    "#{INTRODUCTION}#{tables.join}\n## Handshakes\n\n#{lines(handshakes)}" \
      "\n## Name servers\n\n#{lines(names)}#{peers}#{llhttp}#{SoakPage.text}"
  end

  # What the other clients did, as it was kept (rake safety:peers).
  def peers
    kept = JSON.parse(File.read(File.join(__dir__, "peers.json")))
    rows = HostileCases::ALL.select { |row| kept.first["rows"].key?(row.name.to_s) }.map do |row|
      "| #{row.does} | #{by_outcome(kept, row.name.to_s)} |"
    end
    versions = kept.map { |peer| "#{peer["client"]} (#{peer["version"]})" }.join(", ")
    "\n## Other clients\n\n#{PEERS}\nTried: #{versions}.\n\n#{lines(rows, "the other clients")}"
  end

  def llhttp
    rows = LlhttpCases::REASONS.map { |name, reason| "| #{name.sub(": ", ": \"")}\" | #{reason} |" }
    "\n## llhttp's tests\n\nThe responses in llhttp's own tests (9.4.2) are read by both engines as llhttp reads " \
      "them, and refused as it\nrefuses them (`rake safety:llhttp`), but for these.\n\n" \
      "| file, and case | why |\n|---|---|\n#{rows.join("\n")}\n"
  end

  def by_outcome(kept, name)
    found = kept.group_by { |peer| peer["rows"].fetch(name)[/\A[^:]+/] }
    found.sort.map { |told, peers| "#{told}: #{peers.map { |peer| peer["client"] }.join(", ")}" }.join("; ")
  end

  def table(rows)
    lines(rows.map { |row| "| #{row.does}#{" (TLS)" if row.only} | #{outcome(row)} |" })
  end

  def lines(rows, second = "the caller gets")
    ["| the server sends | #{second} |", "|---|---|", *rows].join("\n") << "\n"
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
