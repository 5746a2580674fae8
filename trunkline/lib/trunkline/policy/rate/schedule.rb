# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Policy
    class Rate
      # So many starts in a second, after a burst: each start takes the next slot (the generic cell rate algorithm).
      # Safe for use by several threads; nothing waits.
      class Schedule
        # Seconds of starts that may come at once where no burst was given: timers are no finer.
        GRAIN = 0.02
        # A slot so near has come: seconds.
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
          @next = -Float::INFINITY # when the next would start, if there were no burst
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

        # Gives back a slot that nobody starts in: the last can be given to another.
        # @return [void]
        def cancel(slot)
          @lock.synchronize { @next -= @interval if @next.eql?(slot) }
        end

        # @param now [Float] monotonic seconds
        # @return [Float] seconds until one more might start
        def delay(now) = rounded(@next - @lead - now)

        # An answer tells nothing about it.
        def learn(_slot, _response, _now); end

        # Nor does the end of the request.
        def ended(_slot); end

        # @return [String] the beginning of a sentence
        def reason(_now)
          format("the rate is %<rate>g a second, with a burst of %<burst>d", rate: @per_second, burst: @burst)
        end

        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Numeric}] per_second, burst, and wait: seconds until one more might start
        def to_h(now) = { per_second: @per_second, burst: @burst, wait: delay(now) }

        private

        def rounded(seconds) = seconds > NEAR ? seconds : 0.0
      end
    end
  end
end
