# frozen_string_literal: true

module Trunkline
  # The progress of a batch. A callable given as progress: is called with it a few times a second and at the end.
  # Frozen.
  #
  #   client.each(urls, progress: ->(progress) { log(progress.to_s) }) { |url, response| ... }
  #
  #   done        requests that have ended, including failed ones
  #   failed      requests that have ended in an error or a status of 400 and above
  #   in_flight   requests in flight
  #   per_second  requests that ended per second, since the previous report
  #   limit       how many requests may be in flight at this moment
  Progress = Struct.new(:done, :failed, :in_flight, :per_second, :limit, keyword_init: true) do
    def initialize(**)
      super
      freeze
    end

    # @return [String] one line
    def to_s
      "#{done} done, #{failed} failed, #{in_flight} of #{limit} in flight, #{per_second.round}/s"
    end
  end

  class Progress
    # Seconds between two reports.
    INTERVAL = 0.25

    # Counts the results of a batch, and reports its progress.
    # @api private
    class Reporter
      # @param wanted [true, #call] true: a line on the terminal
      # @return [Reporter, nil] nil when wanted is no callable and output is no terminal
      def self.for(wanted, output: $stderr)
        return new(wanted) if wanted.respond_to?(:call)

        new(->(progress) { output.print("\r\e[K#{progress}") }, -> { output.puts }) if wanted && output.tty?
      end

      def initialize(callable, over = nil)
        @callable = callable
        @over = over
        @done = @failed = @done_before = 0
        @at = clock
      end

      # @param result [Response, Exception]
      def count(result)
        @done += 1
        @failed += 1 unless result.is_a?(Response) && result.status < 400
      end

      def report_if_due(scheduler)
        now = clock
        report(scheduler, now) if now - @at >= INTERVAL
      end

      def finish(scheduler)
        report(scheduler, clock)
        @over&.call
      end

      private

      def report(scheduler, now)
        per_second = (@done - @done_before) / [now - @at, 0.001].max
        @done_before = @done
        @at = now
        @callable.call(Progress.new(done: @done, failed: @failed, in_flight: scheduler.in_flight,
                                    per_second: per_second, limit: scheduler.limit))
      end

      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
