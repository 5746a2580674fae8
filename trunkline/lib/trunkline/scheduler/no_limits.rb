# frozen_string_literal: true

module Trunkline
  class Scheduler
    # Replaces BatchOptions for a caller that counts its requests itself: no request waits, and a request that an origin
    # refuses delays no other.
    module NoLimits
      module_function

      # @return [Float] maximum of requests in flight to each origin
      def concurrency = Float::INFINITY

      # @return [Float] maximum of requests in flight to all origins
      def max_in_flight = Float::INFINITY

      # @return [nil] maximum of starts per second
      def rate = nil
    end
  end
end
