# frozen_string_literal: true

module Trunkline
  class Limiter
    # What limiters have found out, by origin, for the whole process: the next one begins there. Bounded in number
    # and in time; safe to use from any thread.
    class Memory
      # Origins.
      MOST = 1000
      # Seconds.
      LONGEST = 600.0

      def initialize
        @known = {}
        @lock = Mutex.new
      end

      # @param origin [String] "https://api.test"
      # @param facts [Hash] as Limiter#to_h
      def keep(origin, facts, now)
        @lock.synchronize do
          @known.delete(origin)
          @known[origin] = [now, facts.freeze].freeze
          @known.shift if @known.size > MOST
        end
      end

      # @return [Hash, nil] what a new limiter may begin with: limit, rate
      def recall(origin, now)
        at, facts = @lock.synchronize { @known[origin] }
        return if facts.nil? || now - at > LONGEST || facts[:state] == :start

        facts
      end

      # @return [Hash{String => Hash}] facts by origin
      def to_h
        @lock.synchronize { @known.transform_values(&:last) }
      end
    end
  end
end
