# frozen_string_literal: true

require_relative "../redacted"
require_relative "estimate"
require_relative "finding"

module Trunkline
  module Insight
    # Finds what can be improved about the calls of one watch. There is a method for each kind of finding.
    #
    # @api private
    class Finder
      include Redacted

      # @param calls [Array<Call>]
      # @param of [Float] duration of the watch in seconds
      # @param min [Integer] number of calls of one shape that make a loop
      def initialize(calls, of:, min:)
        @hosts = calls.group_by(&:host)
        @of = of
        @min = min
      end

      # @return [Array<Finding>] the largest savings first
      def findings
        found = @hosts.flat_map do |host, calls|
          [looped(host, calls), *repeated(host, calls), connections(host, calls), *timeouts(host, calls),
           transaction(host, calls)]
        end
        found.compact.sort_by { |finding| [-finding.saves, -finding.seconds] }
      end

      private

      def looped(host, calls)
        loops = calls.group_by(&:shape).values.select { |group| loop?(group) }.sort_by { |group| -group.size }
        return if loops.empty?

        row = (loops.flatten + sequential(calls - loops.flatten, calls)).sort_by(&:began)
        shapes = loops.map { |group| "#{group[0].shape} x #{group.size}" }.join(", ")
        finding(:loop, host, row, remedy: "Side by side", estimate: Estimate.covered(row) - saved_seconds(loops),
                                  what: "#{row.size} calls to #{host} one after another (#{shapes})",
                                  advice: loop_advice(loops))
      end

      def saved_seconds(loops) = loops.sum { |group| Estimate.covered(group) - Estimate.side_by_side(group) }

      def loop?(group)
        return false if group.size < @min || group.map { |call| call.identity || call }.uniq.size < 2

        rounds = Estimate.rounds(group).size
        rounds >= @min && group.size < 2 * rounds
      end

      # @return [Array<Call>] the calls among `some` that overlapped with no other call
      def sequential(some, calls)
        single = Estimate.rounds(calls).select { |round| round.size == 1 }.flatten
        some.select { |call| single.include?(call) }
      end

      def loop_advice(loops)
        order = " if their order does not matter" if loops.flatten.any? { |call| call.identity.nil? }
        "Make them in one batch (client.map or client.batch)#{order}, or ask the server for many at once."
      end

      def repeated(host, calls)
        same = calls.select(&:identity).group_by(&:identity).values.select { |group| group.size > 1 }
        same.group_by { |group| group[0].shape }.map do |shape, groups|
          urls = groups.size == 1 ? "the same URL" : "#{groups.size} URLs"
          finding(:repeated, host, groups.flatten,
                  remedy: "Asked once", estimate: groups.sum { |group| group.map(&:duration).min },
                  what: "#{groups.sum(&:size)} calls to #{host} for #{urls} (#{shape})",
                  advice: "Keep the answer in a variable, or use cache:; coalesce: shares it among threads.")
        end
      end

      def connections(host, calls)
        again = opened_again(calls)
        return if again.size < 2

        finding(:connections, host, again,
                seconds: again.sum(&:opening), estimate: 0.0,
                what: "#{again.size} of #{calls.size} calls to #{host} opened a connection again",
                advice: "Keep the connection open: one Trunkline client for all calls, or Net::HTTP.start around them.")
      end

      # Calls that opened a connection although as many calls had been in progress before, so that one could have been
      # reused.
      def opened_again(calls)
        most = 0
        under_way = []
        calls.sort_by(&:began).select do |call|
          under_way.reject! { |other| other.ended <= call.began }
          under_way << call
          spare = under_way.size <= most
          most = [most, under_way.size].max
          spare && call.opened?
        end
      end

      def timeouts(host, calls)
        calls.select(&:timeout).group_by { |call| [call.library, call.timeout] }.map do |(library, limit), group|
          finding(:timeouts, host, group,
                  what: "#{count(group)} to #{host} by #{library} for which nobody chose a timeout (#{limit})",
                  advice: "Set a timeout that fits the server: a slow one holds this thread as long as that.")
        end
      end

      def transaction(host, calls)
        inside = calls.select(&:transaction)
        return if inside.empty?

        finding(:transaction, host, inside,
                what: "#{count(inside)} to #{host} inside a database transaction",
                advice: "Call before the transaction or after its commit: its locks and its connection are held " \
                        "meanwhile.")
      end

      def finding(kind, host, calls, seconds: Estimate.covered(calls), **facts)
        Finding.new(kind: kind, host: host, calls: calls.freeze, seconds: seconds, of: @of, **facts)
      end

      def count(calls) = "#{calls.size} call#{"s" if calls.size > 1}"
    end
  end
end
