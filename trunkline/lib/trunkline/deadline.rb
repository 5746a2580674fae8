# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "timeouts"

module Trunkline
  # The end that Trunkline.deadline(seconds) { } sets for every call inside of its block. It belongs to the fiber that
  # runs the block and, where a Fiber scheduler begins inside of it, to the scheduler's fibers; #wrap carries it into
  # other threads and fibers.
  module Deadline
    KEY = :trunkline_deadline
    private_constant :KEY

    class << self
      # @return [Float, nil] monotonic seconds
      # @api private
      def current
        Thread.current[KEY] || (scheduler && Thread.current.thread_variable_get(KEY))
      end

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

      # @return [Object, nil] JRuby 9.4 has none
      if Fiber.respond_to?(:current_scheduler)
        def scheduler = Fiber.current_scheduler
      else
        def scheduler = nil
      end

      def run_until(limit, &block)
        Surroundings.need_for(:deadlines)
        thread = Thread.current
        outer = thread[KEY]
        thread[KEY] = limit
        scheduler ? yield : of_scheduled_fibers(thread, limit, &block)
      ensure
        thread[KEY] = outer if thread
      end

      # A fiber that blocks its thread stands still in its block while a scheduler that it runs there has its turns.
      def of_scheduled_fibers(thread, limit)
        outer = thread.thread_variable_get(KEY)
        thread.thread_variable_set(KEY, limit)
        yield
      ensure
        thread.thread_variable_set(KEY, outer)
      end
    end
  end
end
