# frozen_string_literal: true

require_relative "cases"
require_relative "../soak/page"
require_relative "http2_cases"
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

  module_function

  # @return [String]
  def text
    tables = [*HostileCases::ALL, *HostileHTTP2::ALL].group_by(&:group).map { |name, rows| "\n## #{name}\n\n#{table(rows)}" }
    handshakes = HostileCases::HANDSHAKES.each_value.map { |does, expected| "| #{does} | `#{expected}` |" }
    names = HostileNames::ALL.each_value.map { |row| "| #{row.does} | `#{row.expected}` |" }
    "#{INTRODUCTION}#{tables.join}\n## Handshakes\n\n#{lines(handshakes)}" \
      "\n## Name servers\n\n#{lines(names)}#{SoakPage.text}"
  end

  def table(rows)
    lines(rows.map { |row| "| #{row.does}#{" (TLS)" if row.only} | #{outcome(row)} |" })
  end

  def lines(rows) = ["| the server sends | the caller gets |", "|---|---|", *rows].join("\n") << "\n"

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
