# frozen_string_literal: true

module Trunkline
  class Scheduler
    # In the place of BatchOptions, for a caller that counts its requests itself: nothing waits, and a request that an
    # origin refuses holds back no other.
    module NoLimits
      module_function

      # @return [Float] in flight to each origin
      def concurrency = Float::INFINITY

      # @return [Float] in flight in all
      def max_in_flight = Float::INFINITY

      # @return [nil] starts a second
      def rate = nil
    end
  end
end
