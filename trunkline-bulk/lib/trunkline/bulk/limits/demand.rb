# frozen_string_literal: true

module Trunkline
  class Bulk
    class Limits
      # The demand of a process on an origin for the next interval. per_second, max_in_flight: 0 for no limit; pause:
      # seconds that the origin has asked for
      #
      # @api private
      Demand = Struct.new(:origin, :per_second, :wanted, :max_in_flight, :in_flight, :wanted_in_flight, :pause)
      # The grant for a Demand: request starts, requests in flight, and seconds of pause.
      #
      # @api private
      Grant = Struct.new(:starts, :in_flight, :pause)
      # interval: seconds for which the grants are valid; workers: the number of workers; grants: in the order of the
      # demands
      #
      # @api private
      Grants = Struct.new(:interval, :workers, :grants)
    end
  end
end
