# frozen_string_literal: true

require_relative "deadline"
require_relative "instrument"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # The context of a call, read in the thread that makes it: the time set by Trunkline.deadline, and the notes of the
  # probes (see Instrument). The call keeps it when it runs in another thread or fiber. Frozen.
  #
  # @api private
  class Surroundings
    include Redacted

    @needed = false
    @needed_for = [].freeze
    @lock = Lock.new

    class << self
      # Whether any call of the process may have Surroundings; if not, calls do not use .current. An attr_reader,
      # because it is faster than a method and every call uses it.
      # @return [Boolean]
      attr_reader :needed
      alias needed? needed

      # Makes needed? true from now on.
      # @param what [Symbol] the reason: :deadlines or :probes
      # @return [void]
      def need_for(what)
        change { [*@needed_for, what] } unless @needed_for.include?(what)
      end

      # Removes a reason; needed? is false when there are none.
      # @return [void]
      def need_not_for(what)
        change { @needed_for - [what] }
      end

      # @return [Surroundings, nil] those of the current thread and fiber; nil without a deadline and notes
      def current
        limit = Deadline.current
        notes = Instrument.notes
        new(limit, notes) if limit || notes
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
          @needed_for = yield.uniq.freeze
          @needed = @needed_for.any?
        end
      end
    end

    # @return [Float, nil] the deadline in monotonic seconds
    attr_reader :limit
    # @return [Hash{Object => Object}, nil] the note of each probe
    attr_reader :notes

    def initialize(limit, notes)
      @limit = limit
      @notes = notes
      freeze
    end
  end
end
