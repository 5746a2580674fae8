# frozen_string_literal: true

require "json_schemer"

module Trunkline
  module Lab
    # Runs an experiment of the smallest size, with the clients that are always available, and checks what each result
    # must contain.
    module RunningExperiments
      include Running

      SCHEMA = JSONSchemer.schema(Pathname(Result::SCHEMA))
      CLIENTS = %w[--client trunkline,net_http].freeze

      def experiment(*argv)
        measured(*argv) do |result, out|
          assert_empty(SCHEMA.validate(result).map { |problem| problem["error"] })
          assert_fits(result)
          yield result, out
        end
      end

      # Each table fits a terminal of usual width, except tables of facts, which are printed as text.
      def assert_fits(result)
        return if result["state"] == "facts"

        result["tables"].each do |table|
          drawn = Output::TextTable.new(table.transform_keys(&:to_sym), width: 80) { |text| text }.to_s

          assert_match(/\A\+-/, drawn, "#{result["command"]} is too wide")
        end
      end

      # The limits that were measured, or reported as missing with the reason.
      def limits(result, rows) = (rows.map(&:first) | result["missing"].keys).select { |label| Limits.row?(label) }.sort

      def titles(result) = result["tables"].map { |table| table["title"] }
    end
  end
end
