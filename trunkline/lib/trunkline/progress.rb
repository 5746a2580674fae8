# frozen_string_literal: true

module Trunkline
  # How far many requests are: what progress: is given, a few times a second and at the end.
  #
  #   client.each(urls, progress: ->(progress) { log(progress.to_s) }) { |url, response| ... }
  class Progress
    # Seconds between two reports.
    INTERVAL = 0.25

    # @return [Integer] requests that are over, those that failed among them
    attr_reader :done
    # @return [Integer] of those, the ones that came to an error or to a status of 400 and above
    attr_reader :failed
    # @return [Integer]
    attr_reader :in_flight
    # @return [Float] ended per second, since the report before
    attr_reader :per_second
    # @return [Integer] how many may be in flight at this moment
    attr_reader :limit

    def initialize(done:, failed:, in_flight:, per_second:, limit:)
      @done = done
      @failed = failed
      @in_flight = in_flight
      @per_second = per_second
      @limit = limit
      freeze
    end

    # @return [Hash{Symbol => Numeric}]
    def to_h
      { done: done, failed: failed, in_flight: in_flight, per_second: per_second, limit: limit }
    end

    # @return [String] one line
    def to_s
      "#{done} done, #{failed} failed, #{in_flight} of #{limit} in flight, #{per_second.round}/s"
    end

    # Counts, and reports when it is time.
    # @api private
    class Reporter
      # @param wanted [true, #call]
      # @return [Reporter, nil] nil when there is nobody to report to
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
        @failed += 1 if result.is_a?(Exception) || result.status >= 400
      end

      def tell(scheduler)
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

      def clock
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
