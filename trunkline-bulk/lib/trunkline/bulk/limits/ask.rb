# frozen_string_literal: true

module Trunkline
  class Bulk
    class Limits
      # What a process wants of an origin for the next interval. per_second, most_in_flight: 0 for no limit; pause:
      # seconds that the origin has asked for
      #
      # @api private
      Ask = Struct.new(:origin, :per_second, :wanted, :most_in_flight, :in_flight, :wanted_in_flight, :pause)
      # What it has been given: starts, requests in flight, seconds of pause.
      #
      # @api private
      Grant = Struct.new(:starts, :in_flight, :pause)
      # interval: seconds for which grants hold; workers: that there are; grants: in the order of the asks
      #
      # @api private
      Grants = Struct.new(:interval, :workers, :grants)
    end
  end
end
