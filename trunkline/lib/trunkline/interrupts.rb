# frozen_string_literal: true

module Trunkline
  # Tells interrupts from errors of the caller's own code. What a block, a body or a signer raises concerns one
  # request of many; what another thread raises in it (Thread#raise, Timeout with a class, Fiber#raise) ends the whole
  # call, and Ruby does not tell the two apart. So a thread or fiber that runs callers' code for many requests is
  # extended by this module, and its own #raise marks the exception. See docs/decisions/0007.
  #
  # @api private
  module Interrupts
    # On a marked exception: its own object_id, since copies are no interrupts; that of the thread which it was raised
    # in, since elsewhere it is a result; and whether Timeout raised it.
    MARK = :@trunkline_interrupt
    private_constant :MARK

    class << self
      # From now on, what is raised in the current thread and fiber from outside is marked.
      def watch
        thread = Thread.current
        thread.extend(self) unless thread.is_a?(self)
        fiber = Fiber.current
        fiber.extend(self) unless fiber.is_a?(self)
      end

      # @param error [Exception] that ended callers' code in the current thread
      # @return [Boolean] whether an interrupt is what it comes from: then it must be raised on
      def ended_by?(error)
        thread = Thread.current.object_id
        until error.nil?
          id, raised_in, by_timeout = error.instance_variable_get(MARK)
          return true if id == error.object_id && raised_in == thread && !(by_timeout && own_timeout?(error))

          error = error.cause
        end
        false
      end

      # Raises a result that is no StandardError, since no rescue is to hide it.
      # @param result [Object]
      def raise_unhidden(result)
        raise result if result.is_a?(Exception) && !result.is_a?(StandardError)
      end

      # Runs what has a fiber of its own, an Enumerator's or a signer's: a throw out of it ends there, and goes on here.
      # @yield resumes the fiber
      def throwing_on
        yield
      rescue UncaughtThrowError => error
        throw error.tag, error.value
      end

      # @param given [Array] as of Thread#raise
      # @return [Exception, nil] nil when they name none, or one that cannot be marked
      def mark(given, options, raised_in, by_timeout)
        what, *message = given.empty? ? [RuntimeError, "unhandled exception"] : given
        backtrace = message.delete_at(1)
        error = what.is_a?(String) ? RuntimeError.new(what) : made(what, message, options)
        return if !error.is_a?(Exception) || error.frozen?

        error.set_backtrace(backtrace) if backtrace
        error.instance_variable_set(MARK, [error.object_id, raised_in.object_id, by_timeout].freeze)
        error
      end

      # @param location [Thread::Backtrace::Location, nil]
      def timeout?(location)
        defined?(::Timeout) && location&.path == ::Timeout.method(:timeout).source_location.first
      end

      private

      def made(what, message, options)
        what.exception(*message, **options) if what.respond_to?(:exception)
      end

      # Code that calls Timeout is interrupted by Thread#raise as well, and by what it asked for itself. Which Timeout
      # it was cannot be seen when there are some on both sides: then it was the outer one.
      def own_timeout?(error)
        (error.backtrace_locations || []).any? { |one| timeout?(one) } && caller_locations.none? { |one| timeout?(one) }
      end
    end

    # As Thread#raise and Fiber#raise.
    def raise(*given, **options)
      return super if equal?(Thread.current) || equal?(Fiber.current)

      thread = is_a?(Thread) ? self : Thread.current
      by_timeout = Interrupts.timeout?(caller_locations(1, 1).first)
      error = Interrupts.mark(given, options.except(:cause), thread, by_timeout)
      error ? super(error, **options.slice(:cause)) : super
    end
  end
end
