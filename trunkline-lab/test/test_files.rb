# frozen_string_literal: true

require_relative "test_helper"

module Trunkline
  module Lab
    class TestFiles < Minitest::Test
      def results
        result = Result.new(command: "load", title: "A | B", arguments: [])
        result.figure([1.5, 2.5, 3.5], name: "speed", group: "g", label: "l", unit: "x/s")
        result.table("numbers", ["client", "requests/s"], [["a|b", 1], ["<c>", 2]], note: "A note.")
        result.say("Two\nlines")
        result.missing["wreq"] = "needs Ruby"
        result.close
        [JSON.parse(JSON.generate(result.to_h), symbolize_names: true)]
      end

      def test_samples_have_a_row_each
        assert_equal [%w[command group label figure unit better sample value],
                      *[%w[1 1.5], %w[2 2.5], %w[3 3.5]].map do |row|
                        ["load", "g", "l", "speed", "x/s", "higher", *row]
                      end],
                     CSV.parse(Output::Files.samples(results))
      end

      def test_markdown_shows_tables_and_escapes_cells
        text = Output::Files.markdown(results)

        assert_match(/\A## A \\\| B\n\n\*\*State:\*\* /, text)
        assert_includes text, <<~TABLE
          ### numbers

          | client | requests/s |
          | --- | ---: |
          | a\\|b | 1 |
          | \\<c\\> | 2 |

          A note.

          Not measured:

          - wreq: needs Ruby
        TABLE
        assert_includes text, "```text\nTwo\nlines\n```"
      end
    end
  end
end
