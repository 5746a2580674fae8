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

      # @param display [#call] called with a RunStatus
      def initialize(display, &status)
        @display = display
        @status = status
        @reported_at = -Float::INFINITY
      end

      # @return [void]
      def report
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        return if now - @reported_at < INTERVAL

        @reported_at = now
        @display.call(@status.call)
      end

      # @return [void]
      def finish
        status = @status.call
        @display.respond_to?(:finish) ? @display.finish(status) : @display.call(status)
      end

      # Writes a line from time to time, for a log.
      class Lines
        # Seconds between two lines.
        EVERY = 10.0
        private_constant :EVERY

        # @param output [IO]
        def initialize(output)
          @output = output
          @written_at = -Float::INFINITY
        end

        # @param status [RunStatus]
        # @return [void]
        def call(status)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          return if now - @written_at < EVERY

          @written_at = now
          @output.puts(status)
        end

        # @param status [RunStatus]
        # @return [void]
        def finish(status) = @output.puts(status)
      end
    end
  end
end
