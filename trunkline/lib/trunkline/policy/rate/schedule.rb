# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Policy
    class Rate
      # A fixed number of starts per second, after a burst: each start takes the next slot (the generic cell rate
      # algorithm). Safe for use by several threads; no method waits.
      class Schedule
        # The default burst is the number of starts in this many seconds, because timers are no more precise.
        GRAIN = 0.02
        # A slot that is at most this many seconds away counts as due.
        NEAR = 1e-6
        private_constant :GRAIN, :NEAR

        # @param per_second [Float]
        # @return [Integer]
        def self.burst_of(per_second) = [(per_second * GRAIN).floor, 1].max

        # @param per_second [Float]
        # @param burst [Integer]
        def initialize(per_second, burst)
          @per_second = per_second
          @burst = burst
          @interval = 1.0 / per_second
          @lead = (burst - 1) * @interval
          @next = -Float::INFINITY # start time of the next slot if there were no burst
          @lock = Lock.new
        end

        # @param now [Float] monotonic seconds
        # @param patience [Float] seconds
        # @return [Array(Float, Float)] seconds until the slot, and the slot; nil for a slot that would come too late
        def reserve(now, patience)
          @lock.synchronize do
            wait = delay(now)
            next [wait, nil] if wait > patience

            @next = [@next, now].max + @interval
            [wait, @next]
          end
        end

        # @param slot [Float]
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until the slot
        def wait(slot, now) = rounded(slot - @interval - @lead - now)

        # Cancels a slot that no request uses; the last one can be reserved again.
        # @return [void]
        def cancel(slot)
          @lock.synchronize { @next -= @interval if @next.eql?(slot) }
        end

        # @param now [Float] monotonic seconds
        # @return [Float] seconds until one more request could start
        def delay(now) = rounded(@next - @lead - now)

        # Does nothing: a response does not change the schedule.
        def learn(_slot, _response, _now); end

        # Does nothing: the end of a request does not change the schedule.
        def ended(_slot); end

        # @return [String] the beginning of a sentence of an error message
        def reason(_now)
          format("the rate is %<rate>g a second, with a burst of %<burst>d", rate: @per_second, burst: @burst)
        end

        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Numeric}] per_second, burst, and wait: seconds until one more request could start
        def to_h(now) = { per_second: @per_second, burst: @burst, wait: delay(now) }

        private

        def rounded(seconds) = seconds > NEAR ? seconds : 0.0
      end
    end
  end
end
