# frozen_string_literal: true

require "json_schemer"

module Trunkline
  module Lab
    # Runs an experiment as small as it can be, by the clients that are always there, and checks what each must have.
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

      # Each table on a usual terminal, but those of facts, which are told in words.
      def assert_fits(result)
        return if result["state"] == "facts"

        result["tables"].each do |table|
          drawn = Output::TextTable.new(table.transform_keys(&:to_sym), width: 80) { |text| text }.to_s

          assert_match(/\A\+-/, drawn, "#{result["command"]} is too wide")
        end
      end

      # Those that were measured or named with the reason.
      def limits(result, rows) = (rows.map(&:first) | result["missing"].keys).select { |label| Limits.row?(label) }.sort

      def titles(result) = result["tables"].map { |table| table["title"] }
    end
  end
end
