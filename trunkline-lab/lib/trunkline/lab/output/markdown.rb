# frozen_string_literal: true

require_relative "../environment"
require_relative "text_table"

module Trunkline
  module Lab
    module Output
      # Results as Markdown with tables (GitHub's), for pull requests and wikis.
      class Markdown
        # @param results [Array<Hash>] from Result.read
        def initialize(results) = @results = results

        # @return [String]
        def to_s = "#{@results.map { |result| section(result) }.join("\n\n")}\n"

        private

        def section(result)
          ["## #{escape(result[:title])}", state(result), *result[:sentences].map { |text| sentence(text) },
           *result[:tables].map { |table| table(table) }, missing(result[:missing]),
           escape(Environment.sentence(result[:environment]))].compact.join("\n\n")
        end

        def state(result)
          reasons = result[:noise][:reasons]
          told = Result::STATES.fetch(result[:state])
          "**State:** #{escape(reasons.empty? ? told : "#{told}: #{reasons.join("; ")}")}"
        end

        def sentence(text) = text.include?("\n") ? "```text\n#{text}\n```" : escape(text)

        def table(table)
          numbers = table[:columns].each_index.map do |column|
            table[:rows].any? && table[:rows].all? { |row| TextTable::NUMBER.match?(row[column].to_s) }
          end
          rows = [table[:columns], numbers.map { |number| number ? "---:" : "---" }, *table[:rows]]
          title = "### #{escape(table[:title])}" if table[:title]
          note = escape(table[:note]) if table[:note]
          [title, rows.map { |row| row(row) }.join("\n"), note].compact.join("\n\n")
        end

        def row(cells) = "| #{cells.map { |cell| escape(cell.to_s) }.join(" | ")} |"

        def missing(missing)
          return if missing.empty?

          ["Not measured:", "", *missing.map { |label, reason| "- #{escape("#{label}: #{reason}")}" }].join("\n")
        end

        # Escapes characters that have a meaning in Markdown or HTML.
        def escape(text) = text.gsub(/[\\`*_|<>\[\]&]/) { |character| "\\#{character}" }.gsub(/\s*\n\s*/, " ")
      end
    end
  end
end
