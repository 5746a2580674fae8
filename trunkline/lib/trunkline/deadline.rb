# frozen_string_literal: true

require_relative "engine"
require_relative "errors"
require_relative "timeouts"

module Trunkline
  # The deadline that Trunkline.deadline(seconds) { } sets for every call in its block. It belongs to the fiber that
  # runs the block, and also applies to the fibers of a Fiber scheduler that is started in the block. #wrap carries it
  # into other threads and fibers.
  module Deadline
    KEY = :trunkline_deadline
    private_constant :KEY

    class << self
      # @return [Float, nil] the deadline in monotonic seconds; nil without one
      # @api private
      def current
        Thread.current[KEY] || (scheduler && Thread.current.thread_variable_get(KEY))
      end

      # @return [Float, nil] seconds until the deadline; negative after it has passed; nil without one
      def left
        current && (current - Engine.now)
      end

      # @param seconds [Numeric]
      # @yield runs with a deadline in so many seconds, or with the outer deadline if that is earlier
      # @return [Object] the value of the block
      # @raise [InvalidRequest] when seconds is not a finite number, or without a block
      # @api private
      def within(seconds, &block)
        value = Timeouts.plain(seconds)
        unless value.is_a?(Numeric) && value.real? && value.to_f.finite?
          raise InvalidRequest.of("deadline", seconds, "a number of seconds")
        end
        raise InvalidRequest, "deadline: needs a block, whose calls it bounds" unless block

        run_until([Engine.now + value.to_f, current].compact.min, &block)
      end

      # @yield runs later, with the deadline that is in effect now
      # @return [Proc] to be called in another thread or fiber
      # @raise [InvalidRequest] without a block
      def wrap(&block)
        raise InvalidRequest, "deadline.wrap: needs a block" unless block

        limit = current
        proc { |*arguments| run_until(limit) { block.call(*arguments) } }
      end

      private

      # @return [Object, nil] the current Fiber scheduler; nil on JRuby 9.4, which has none
      if Fiber.respond_to?(:current_scheduler)
        def scheduler = Fiber.current_scheduler
      else
        def scheduler = nil
      end

      def run_until(limit, &block)
        CallerContext.enable(:deadlines)
        thread = Thread.current
        outer = thread[KEY]
        thread[KEY] = limit
        scheduler ? yield : run_for_scheduled_fibers(thread, limit, &block)
      ensure
        thread[KEY] = outer if thread
      end

      # Sets the thread variable that the fibers of a scheduler read. The current fiber is blocking: it cannot leave its
      # block while a scheduler that was started there runs.
      def run_for_scheduled_fibers(thread, limit)
        outer = thread.thread_variable_get(KEY)
        thread.thread_variable_set(KEY, limit)
        yield
      ensure
        thread.thread_variable_set(KEY, outer)
      end
    end
  end
end
