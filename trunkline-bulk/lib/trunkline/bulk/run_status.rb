# frozen_string_literal: true

module Trunkline
  class Bulk
    # The progress of a run, and its current activity. Frozen.
    #
    #   name    of the run
    #   state   :running, :paused, :cancelled or :done
    #   done    items with a Response, and items that need no request
    #   failed  items with an Error, without a valid request, or whose result block raised
    #   total   items of the source; nil while that is not known
    #   counts  items by status, or by the class of the error: {"200" => 9000, "404" => 12, "ConnectTimeout" => 3}
    #   rate    items a second, of all processes: over the last seconds while they report, otherwise since the run began
    #   eta     seconds until the end at that rate; nil when it is not known
    #   in_flight  requests in flight, of all processes
    #   slowest_origins  [Origin, ...], at most five, whose requests took longest in the last seconds, by a sample
    #   began, ended  Time
    #
    # Processes report their activity each second, or every five to a database server. A report expires after three
    # times that.
    class RunStatus
      # url: scheme, host and port; requests: the number measured; seconds: the mean time of a request
      Origin = Struct.new(:url, :requests, :seconds) do
        def to_s = format("%<url>s %<seconds>.3f s", url: url, seconds: seconds)
      end
      # The maximum number of slowest origins.
      SLOWEST = 5
      private_constant :SLOWEST

      attr_reader :name, :state, :done, :failed, :total, :counts, :rate, :eta, :in_flight, :slowest_origins, :began,
                  :ended

      # @param name [String]
      # @param run [State::Run]
      # @api private
      def initialize(name, run)
        @name = name
        @state, @done, @failed, @total, @began, @ended = run.to_h.values_at(:state, :done, :failed, :total, :began,
                                                                            :ended)
        @counts = run.counts.freeze
        reports = @state == :done ? [] : run.reports
        @in_flight = reports.sum { |report| report["in_flight"] }
        @slowest_origins = slowest(reports).freeze
        @rate = rate_of(reports)
        @eta = ((@total - @done - @failed) / @rate).round(1) if @state == :running && @total && @rate.positive?
        freeze
      end

      # @return [String] one line
      def to_s
        counted = @counts.sort_by { |outcome, items| [-items, outcome] }.map { |outcome, items| "#{outcome}: #{items}" }
        [
          "#{@name}: #{@state}", "#{@done} done", "#{@failed} failed#{" of #{@total}" if @total}", "#{@rate}/s",
          ("#{@in_flight} in flight" if @in_flight.positive?), ("#{@eta.round} s left" if @eta),
          ("slowest #{@slowest_origins.first}" if @slowest_origins.any?)
        ].compact.join(", ") + (counted.empty? ? "" : " (#{counted.join(", ")})")
      end

      private

      def rate_of(reports)
        return reports.sum { |report| report["rate"] }.round(1) if @state == :running && reports.any?

        seconds = (@ended || Time.now) - @began
        seconds.positive? ? ((@done + @failed) / seconds).round(1) : 0.0 # the clock was set back
      end

      # An origin may be in the reports of several processes.
      def slowest(reports)
        origins = reports.flat_map { |report| report["slowest"] }.group_by(&:first).map do |url, times|
          requests = times.sum { |_, count, _| count }
          Origin.new(url, requests, (times.sum { |_, count, seconds| count * seconds } / requests).round(4)).freeze
        end
        origins.max_by(SLOWEST, &:seconds)
      end
    end
  end
end
