# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  class Limiter
    # The limits found so far, by origin, for the whole process: a new Limiter starts with them. Limited in number and
    # age; thread-safe.
    class Memory
      # Maximum number of origins.
      MOST = 1000
      # Maximum age in seconds.
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

      # @return [Hash, nil] limit and rate for a new limiter
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
