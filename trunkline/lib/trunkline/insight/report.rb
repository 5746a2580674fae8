# frozen_string_literal: true

require_relative "finder"
require_relative "seconds"

module Trunkline
  module Insight
    # The result of a watch. Frozen.
    #
    #   name      of the watch
    #   calls     Array<Call>, in the order in which they began
    #   duration  seconds of the watch
    #   findings  Array<Finding>, the largest savings first
    #   dropped   number of calls beyond the 10,000 that are kept
    class Report
      # Kinds of findings that are an N+1.
      N_PLUS_ONE = %i[loop repeated].freeze

      attr_reader :name, :calls, :duration, :findings, :dropped

      # @api private
      def initialize(name:, calls:, duration:, dropped:, min:)
        @name = name
        @calls = calls.sort_by(&:began).freeze
        @duration = duration
        @dropped = dropped
        @findings = Finder.new(@calls, of: duration, min: min).findings.freeze
        freeze
      end

      # @return [Array<Finding>] calls in a loop, and repeated requests of the same URL
      def n_plus_one = findings.select { |finding| N_PLUS_ONE.include?(finding.kind) }

      # @return [Float] seconds during which at least one call was in progress
      def seconds = Estimate.covered(calls)

      # @return [Array<Call>] slowest first
      def slowest(count = calls.size) = calls.sort_by { |call| -call.duration }.first(count)

      # @return [String] "15 calls, 1.84 s of 2.10 s"
      def summary
        more = " (and #{dropped} more)" if dropped.positive?
        "#{calls.size} call#{"s" unless calls.size == 1}#{more}, #{Seconds.of(seconds)} of #{Seconds.of(duration)}"
      end

      # @return [String] each finding on a line, followed by its advice; or one line that says that there are none
      def to_s
        return "#{name}: #{summary}; nothing to improve" if findings.empty?

        findings.map { |finding| "#{name}: #{finding}\n  #{finding.advice}" }.join("\n")
      end

      # @return [String]
      def inspect = "#<#{self.class} #{name}: #{summary}, #{findings.size} findings>"
    end
  end
end
