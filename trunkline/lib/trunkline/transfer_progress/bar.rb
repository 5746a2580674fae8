# frozen_string_literal: true

module Trunkline
  class TransferProgress
    # The progress bar that progress: true draws on a terminal: by the gem tty-progressbar or ruby-progressbar if one of
    # them is installed, else as a line of text. When the transfer begins again, a new bar is drawn.
    #
    # @api private
    module Bar
      # @param output [IO] a terminal
      # @return [#show, #finish]
      def self.on(output)
        { "tty-progressbar" => TTYBar, "ruby-progressbar" => RubyBar }.each do |gem, bar|
          require gem
          return bar.new(output)
        rescue LoadError
          next
        end
        Line.new(output)
      end

      # Draws a line of text, without a gem.
      class Line
        def initialize(output)
          @output = output
        end

        def show(progress) = @output.print("\r\e[K#{progress}")
        def finish = @output.puts
      end

      # Draws with tty-progressbar.
      class TTYBar
        def initialize(output)
          @output = output
        end

        def show(progress)
          @bar = begin_bar(progress.total) if @bar.nil? || progress.bytes.zero?
          @bar.advance(progress.bytes - @bar.current, text: progress.to_s)
        end

        def finish = @bar.stop

        private

        def begin_bar(total)
          TTY::ProgressBar.new("[:bar] :text", total: total, width: 30, output: @output, frequency: 0)
        end
      end

      # Draws with ruby-progressbar.
      class RubyBar
        def initialize(output)
          @output = output
        end

        def show(progress)
          @bar = begin_bar(progress) if @bar.nil? || progress.bytes.zero?
          @bar.title = progress.to_s
          @bar.progress = progress.bytes
        end

        def finish = @bar.stop

        private

        def begin_bar(progress)
          ProgressBar.create(title: progress.to_s, total: progress.total, output: @output, format: "[%B] %t",
                             autofinish: false)
        end
      end
    end
  end
end
