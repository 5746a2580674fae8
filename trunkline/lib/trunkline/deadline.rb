# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "timeouts"

module Trunkline
  # The end that Trunkline.deadline(seconds) { } sets for every call inside of its block. It belongs to the thread or
  # fiber that runs the block; #wrap carries it into others.
  module Deadline
    KEY = :trunkline_deadline
    private_constant :KEY

    class << self
      # @return [Float, nil] monotonic seconds
      # @api private
      def current = Thread.current[KEY]

      # @return [Float, nil] seconds until it; negative when it is over; nil without one
      def left
        current && (current - Engine.now)
      end

      # @yield in which calls end at the latest after so many seconds, and before the end that holds around it
      # @return [Object] the block's value
      # @raise [InvalidRequest]
      # @api private
      def within(seconds, &block)
        value = Timeouts.plain(seconds)
        unless value.is_a?(Numeric) && value.real? && value.to_f.finite?
          raise InvalidRequest.of("deadline", seconds, "a number of seconds")
        end
        raise InvalidRequest, "deadline: needs a block, whose calls it bounds" unless block

        run_until([Engine.now + value.to_f, current].compact.min, &block)
      end

      # @yield to be run with the deadline that holds here
      # @return [Proc] for another thread or fiber
      # @raise [InvalidRequest] without a block
      def wrap(&block)
        raise InvalidRequest, "deadline.wrap: needs a block" unless block

        limit = current
        proc { |*given| run_until(limit) { block.call(*given) } }
      end

      private

      def run_until(limit)
        Surroundings.need_for(:deadlines)
        outer = Thread.current[KEY]
        Thread.current[KEY] = limit
        yield
      ensure
        Thread.current[KEY] = outer
      end
    end
  end
end
