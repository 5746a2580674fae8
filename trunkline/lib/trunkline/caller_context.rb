# frozen_string_literal: true

require_relative "deadline"
require_relative "instrument"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # The context of a call, read in the thread that makes it: the time set by Trunkline.deadline, and the data of the
  # probes (see Instrument). The call keeps it when it runs in another thread or fiber. Frozen.
  #
  # @api private
  class CallerContext
    include Redacted

    @needed = false
    @reasons = [].freeze
    @lock = Lock.new

    class << self
      # Whether any call of the process may have a CallerContext; if not, calls do not use .current. An attr_reader,
      # because it is faster than a method and every call uses it.
      # @return [Boolean]
      attr_reader :needed
      alias needed? needed

      # Makes needed? true from now on.
      # @param reason [Symbol] the reason: :deadlines or :probes
      # @return [void]
      def enable(reason)
        change { [*@reasons, reason] } unless @reasons.include?(reason)
      end

      # Removes a reason; needed? is false when there are none.
      # @return [void]
      def disable(reason)
        change { @reasons - [reason] }
      end

      # @return [CallerContext, nil] that of the current thread and fiber; nil without a deadline and probes
      def current
        limit = Deadline.current
        probe_contexts = Instrument.probe_contexts
        new(limit, probe_contexts) if limit || probe_contexts
      end

      # @return [Symbol, nil] the library that makes the current call through Trunkline, if an interceptor or a tracing
      #   tool may hook that library itself
      def library = Thread.current[:trunkline_hooked]

      # Runs a block whose calls are made by a library (see #library).
      #
      # @param library [Symbol] :net_http or :faraday
      def hooked(library)
        return yield unless needed? || defined?(Interception)

        outer = Thread.current[:trunkline_hooked]
        begin
          Thread.current[:trunkline_hooked] = library
          yield
        ensure
          Thread.current[:trunkline_hooked] = outer
        end
      end

      private

      def change
        @lock.synchronize do
          @reasons = yield.uniq.freeze
          @needed = @reasons.any?
        end
      end
    end

    # @return [Float, nil] the deadline in monotonic seconds
    attr_reader :limit
    # @return [Hash{Object => Object}, nil] by probe, see Instrument.probe_contexts
    attr_reader :probe_contexts

    def initialize(limit, probe_contexts)
      @limit = limit
      @probe_contexts = probe_contexts
      freeze
    end
  end
end
