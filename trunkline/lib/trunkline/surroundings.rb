# frozen_string_literal: true

require_relative "deadline"
require_relative "instrument"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # What surrounds a call in the thread that makes it: the end that Trunkline.deadline set, and what the probes note
  # there (see Instrument). A call takes it with it, wherever it runs. Frozen.
  #
  # @api private
  class Surroundings
    include Redacted

    @needed = false
    @needed_for = [].freeze
    @lock = Lock.new

    class << self
      # Whether any call of the process may have some: else none looks for them, and pays nothing. A reader costs less
      # than a method, and each call asks.
      # @return [Boolean]
      attr_reader :needed
      alias needed? needed

      # Says that calls must look from now on.
      # @param what [Symbol] for which they look: :deadlines, :probes
      # @return [void]
      def need_for(what)
        change { [*@needed_for, what] } unless @needed_for.include?(what)
      end

      # Says that there is none of it any more.
      # @return [void]
      def need_not_for(what)
        change { @needed_for - [what] }
      end

      # @return [Surroundings, nil] those of the current thread and fiber
      def current
        limit = Deadline.current
        notes = Instrument.notes
        new(limit, notes) if limit || notes
      end

      # @return [Symbol, nil] the library that the current call comes from, when that may be hooked itself: by an
      #   interceptor, or by a tool that traces it
      def library = Thread.current[:trunkline_hooked]

      # Runs the block, whose calls come from such a library.
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

    # @return [Float, nil] monotonic seconds
    attr_reader :limit
    # @return [Hash{Object => Object}, nil] of each probe what it has noted
    attr_reader :notes

    def initialize(limit, notes)
      @limit = limit
      @notes = notes
      freeze
    end
  end
end
