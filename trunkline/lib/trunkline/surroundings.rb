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
