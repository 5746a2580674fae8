# frozen_string_literal: true

require_relative "clock"

module Trunkline
  module Lab
    # The rounds of an experiment, and their samples: as many rounds as wanted, or as many as the time allows, but at
    # least LEAST.
    class Rounds
      LEAST = 3

      # @return [Integer] rounds wanted
      attr_reader :wanted

      # @return [Integer] completed rounds
      attr_reader :done

      # @return [Hash{Object => Array}] samples by key
      attr_reader :samples

      # @param wanted [Integer]
      # @param deadline [Float, nil] on the clock; nil for no limit
      # @param clock [#call] seconds
      def initialize(wanted, deadline: nil, clock: Clock.method(:now))
        @wanted = wanted
        @deadline = deadline
        @clock = clock
        @done = 0
        @samples = {}
      end

      # @yield [number] of each round, from 0
      def each
        started = @clock.call
        while more?(started)
          yield @done
          @done += 1
        end
        @over = true
      end

      # Stores the result of the block. When the block raises, nothing is stored.
      def take(key)
        sample = yield
        (@samples[key] ||= []) << sample
      end

      # @return [String, nil] sentence that says that the time was too short for all rounds
      def cut
        "To keep within the time, #{@done} rounds were measured instead of #{@wanted}." if @over && @done < @wanted
      end

      private

      def more?(started)
        return @done < @wanted if @deadline.nil? || @done < LEAST

        now = @clock.call
        @done < @wanted && now + ((now - started) / @done) <= @deadline
      end
    end
  end
end
