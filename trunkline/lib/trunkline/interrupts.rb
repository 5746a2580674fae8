# frozen_string_literal: true

module Trunkline
  # Distinguishes interrupts from errors of the caller's own code. An exception that a block, a body or a signer raises
  # concerns one request of many. An exception that another thread or fiber raises in the running one (Thread#raise,
  # Timeout with a class, Fiber#raise) ends the whole call. Ruby does not distinguish the two, so a thread or fiber that
  # runs callers' code for many requests is extended by this module, whose #raise marks the exception. See
  # docs/decisions/0007.
  #
  # @api private
  module Interrupts
    # The instance variable of a marked exception: the object_id of the exception, since a copy is not an interrupt; the
    # object_id of the thread in which it was raised, since in another thread it is a result; and whether Timeout raised
    # it.
    MARK = :@trunkline_interrupt
    # The instance variable of a watched fiber: its Thread.current. On JRuby each fiber has another.
    THREAD = :@trunkline_thread
    private_constant :MARK, :THREAD

    class << self
      # From now on, exceptions that are raised in the current thread and fiber from outside are marked.
      def watch
        thread = Thread.current
        thread.extend(self) unless thread.is_a?(self)
        fiber = Fiber.current
        fiber.extend(self) unless fiber.is_a?(self)
        fiber.instance_variable_set(THREAD, thread)
      end

      # @param error [Exception] an exception that ended the caller's code in the current thread
      # @return [Boolean] whether the exception or one of its causes is an interrupt; then it must be raised again
      def ended_by?(error)
        thread = Thread.current.object_id
        until error.nil?
          id, raised_in, by_timeout = error.instance_variable_get(MARK)
          return true if id == error.object_id && raised_in == thread && !(by_timeout && own_timeout?(error))

          error = error.cause
        end
        false
      end

      # Raises a result that is an exception other than a StandardError, since a plain rescue must not hide it.
      # @param result [Object]
      def raise_non_standard_error(result)
        raise result if result.is_a?(Exception) && !result.is_a?(StandardError)
      end

      # Resumes another fiber, such as that of an Enumerator or of a signer. A throw cannot leave a fiber: Ruby raises
      # UncaughtThrowError instead, and this method throws again in the current fiber.
      # @yield resumes the fiber
      def with_rethrow
        yield
      rescue UncaughtThrowError => error
        throw error.tag, error.value
      end

      # @param arguments [Array] the positional arguments of Thread#raise
      # @return [Exception, nil] the marked exception; nil when the arguments make none, or a frozen one
      def mark(arguments, options, raised_in, by_timeout)
        type, *message = arguments.empty? ? [RuntimeError, "unhandled exception"] : arguments
        backtrace = message.delete_at(1)
        error = type.is_a?(String) ? RuntimeError.new(type) : exception_of(type, message, options)
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

      def exception_of(type, message, options)
        type.exception(*message, **options) if type.respond_to?(:exception)
      end

      # Timeout also uses Thread#raise. A Timeout that the caller's own code started is not an interrupt. When there are
      # Timeouts both inside and outside the caller's code, the outer one is assumed to have expired.
      def own_timeout?(error)
        (error.backtrace_locations || []).any? { |one| timeout?(one) } && caller_locations.none? { |one| timeout?(one) }
      end
    end

    # Marks the exception and raises it; takes the arguments of Thread#raise and Fiber#raise.
    def raise(*arguments, **options)
      return super if equal?(Thread.current) || equal?(Fiber.current)

      thread = is_a?(Thread) ? self : instance_variable_get(THREAD)
      by_timeout = Interrupts.timeout?(caller_locations(1, 1).first)
      error = Interrupts.mark(arguments, options.except(:cause), thread, by_timeout)
      error ? super(error, **options.slice(:cause)) : super
    end
  end
end
