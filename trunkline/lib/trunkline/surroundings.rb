# frozen_string_literal: true

require_relative "deadline"
require_relative "instrument"
require_relative "redacted"

module Trunkline
  # What surrounds a call in the thread that makes it: the end that Trunkline.deadline set, and what the probes note
  # there (see Instrument). A call takes it with it, wherever it runs. Frozen.
  #
  # @api private
  class Surroundings
    include Redacted

    @needed = false

    class << self
      # Whether any call of the process may have some: else none looks for them, and pays nothing.
      # @return [Boolean]
      def needed? = @needed

      # Says that calls must look from now on.
      # @return [void]
      def need
        @needed = true
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
