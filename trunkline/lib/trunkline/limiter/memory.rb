# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  class Limiter
    # The limits found so far, by origin, for the whole process: a new Limiter starts with them. Bounded in number and
    # in time; thread-safe.
    class Memory
      # Origins.
      MOST = 1000
      # Seconds.
      LONGEST = 600.0

      def initialize
        @known = {}
        @lock = Lock.new
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

      # Forgets everything, for tests.
      # @return [nil]
      def clear
        @lock.synchronize { @known.clear }
        nil
      end

      # @return [Hash{String => Hash}] facts by origin
      def to_h
        @lock.synchronize { @known.transform_values(&:last) }
      end
    end
  end
end
