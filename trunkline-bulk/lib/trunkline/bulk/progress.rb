# frozen_string_literal: true

module Trunkline
  class Bulk
    # Shows the progress of a run: on a terminal, in lines, or by a callable of the caller.
    #
    # @api private
    class Progress
      # Seconds between two updates.
      INTERVAL = 0.5
      private_constant :INTERVAL

      # @param wanted [Boolean, #call, nil] nil: only if there is a terminal
      # @yieldreturn [RunStatus]
      # @return [Progress, nil]
      def self.for(wanted, output: $stderr, &status)
        return new(wanted, &status) if wanted.respond_to?(:call)
        return if wanted == false || (wanted.nil? && !output.tty?)

        new(output.tty? ? on_terminal(output) : Lines.new(output), &status)
      end

      def self.on_terminal(output)
        require_relative "progress/live"
        Live.new(output)
      rescue LoadError
        output.puts "trunkline-bulk: a live view needs the gems tty-cursor and pastel; without them there are lines"
        Lines.new(output)
      end
      private_class_method :on_terminal

      # @param shown [#call] called with a RunStatus
      def initialize(shown, &status)
        @shown = shown
        @status = status
        @told = -Float::INFINITY
      end

      # @return [void]
      def tell
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        return if now - @told < INTERVAL

        @told = now
        @shown.call(@status.call)
      end

      # @return [void]
      def finish
        status = @status.call
        @shown.respond_to?(:finish) ? @shown.finish(status) : @shown.call(status)
      end

      # Writes a line from time to time, for a log.
      class Lines
        # Seconds between two lines.
        EVERY = 10.0
        private_constant :EVERY

        # @param output [IO]
        def initialize(output)
          @output = output
          @written = -Float::INFINITY
        end

        # @param status [RunStatus]
        # @return [void]
        def call(status)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          return if now - @written < EVERY

          @written = now
          @output.puts(status)
        end

        # @param status [RunStatus]
        # @return [void]
        def finish(status) = @output.puts(status)
      end
    end
  end
end
