# frozen_string_literal: true

module Trunkline
  module Insight
    # The findings of several watches, with equal findings grouped, the most expensive first. Frozen.
    class Overview
      # @return [Array<Report>] oldest first
      attr_reader :reports

      # @api private
      def initialize(reports)
        @reports = reports.freeze
        freeze
      end

      # @return [Array<Finding>] the worst of each group of equal kind, watch and place; the largest total savings first
      def findings = groups.map { |group| group.max_by { |_, finding| finding.saves }.last }

      # @return [String]
      def to_s
        return "No findings" if reports.empty?

        groups.map { |group| line(group) }.join("\n")
      end

      # @return [String]
      def inspect = "#<#{self.class} of #{reports.size} reports>"

      private

      # @return [Array<Array<(String, Finding)>>] groups of watch names and findings
      def groups
        pairs = reports.flat_map { |report| report.findings.map { |finding| [report.name, finding] } }
        groups = pairs.group_by { |name, finding| [name, finding.kind, finding.host, finding.place] }.values
        groups.sort_by { |group| [-group.sum { |_, one| one.saves }, -group.sum { |_, one| one.seconds }] }
      end

      def line(group)
        name, worst = group.max_by { |_, finding| finding.saves }
        times = " (#{group.size} times; this was the worst)" if group.size > 1
        "#{name}: #{worst}#{times}\n  #{worst.advice}"
      end
    end
  end
end
