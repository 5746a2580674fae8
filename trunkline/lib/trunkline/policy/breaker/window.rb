# frozen_string_literal: true

module Trunkline
  module Policy
    class Breaker
      # Counts requests and failures of the last seconds, in buckets of a tenth of that time. Not safe for use by two
      # threads.
      class Window
        BUCKETS = 10
        private_constant :BUCKETS

        # @param seconds [Float]
        def initialize(seconds)
          @width = seconds / BUCKETS
          clear
        end

        # @param failed [Boolean]
        # @param now [Float] monotonic seconds
        # @return [void]
        def add(failed, now)
          number = (now / @width).floor
          at = number % BUCKETS
          unless @numbers[at] == number
            @numbers[at] = number
            @requests[at] = @failures[at] = 0
          end
          @requests[at] += 1
          @failures[at] += 1 if failed
        end

        # @param now [Float] monotonic seconds
        # @return [Array(Integer, Integer)] requests, and how many of them failed
        def counts(now)
          oldest = (now / @width).floor - BUCKETS + 1
          requests = failures = 0
          BUCKETS.times do |at|
            next if @numbers[at] < oldest

            requests += @requests[at]
            failures += @failures[at]
          end
          [requests, failures]
        end

        # @return [void]
        def clear
          @numbers = Array.new(BUCKETS, -Float::INFINITY)
          @requests = Array.new(BUCKETS, 0)
          @failures = Array.new(BUCKETS, 0)
        end
      end
    end
  end
end
