# frozen_string_literal: true

require "tty-progressbar"

module Trunkline
  class Bulk
    # Shows how far a run is: on a terminal, or to what the caller gave.
    #
    # @api private
    class Progress
      # Seconds between two times.
      INTERVAL = 0.5
      private_constant :INTERVAL

      # @param wanted [Boolean, #call, nil] nil: when there is a terminal
      # @yieldreturn [RunStatus]
      # @return [Progress, nil]
      def self.for(wanted, output: $stderr, &status)
        return new(wanted, &status) if wanted.respond_to?(:call)
        return if wanted == false || (wanted.nil? && !output.tty?)

        new(Bar.new(output), &status)
      end

      # @param shown [#call] given a RunStatus
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
        @shown.call(@status.call)
        @shown.finish if @shown.respond_to?(:finish)
      end

      # A bar, or a counter when the total is not known.
      class Bar
        FORMAT = ":name :bar :current/:total :rate/s, :failed failed :eta"
        private_constant :FORMAT

        def initialize(output)
          @output = output
        end

        def call(status)
          @bar ||= TTY::ProgressBar.new(FORMAT, total: status.total, output: @output, clear: false, frequency: 4)
          @bar.update(total: status.total) if status.total && @bar.total.nil?
          @bar.current = status.done + status.failed if (status.done + status.failed).positive?
          @bar.advance(0, name: status.name, failed: status.failed)
        end

        def finish = @bar&.stop
      end
    end
  end
end
