# frozen_string_literal: true

require "io/console"
require "pastel"
require "tty-cursor"

module Trunkline
  class Bulk
    class Progress
      # A view of a few lines at the bottom of a terminal, which is redrawn in place: progress, rate, outcomes, and the
      # slowest origins. Text that does not fit is left out.
      class Live
        # The minimum columns of a bar.
        BAR = 10
        # The size of a terminal that does not report its size.
        SIZE = [24, 80].freeze
        COLORS = { "1" => :cyan, "2" => :green, "3" => :cyan, "4" => :yellow }.freeze
        private_constant :BAR, :COLORS, :SIZE

        # @param output [IO] a terminal
        def initialize(output)
          @output = output
          @cursor = TTY::Cursor
          @color = Pastel.new
          @drawn = 0
        end

        # @param status [RunStatus]
        # @return [void]
        def call(status)
          rows, @columns = size
          lines = lines_of(status).first([rows - 1, 1].max)
          text = lines.map { |line| "#{line}#{@cursor.clear_line_after}\n" }.join
          @output.print(move_up, text, @cursor.clear_screen_down)
          @output.flush
          @drawn = lines.size
        end

        # Draws the last view, which remains on the terminal.
        # @param status [RunStatus]
        # @return [void]
        def finish(status) = call(status)

        private

        # The last column stays empty: some terminals begin a new line after it.
        def size
          rows, columns = @output.winsize
          rows.zero? || columns.zero? ? SIZE : [rows, columns - 1]
        rescue SystemCallError
          SIZE
        end

        def move_up = @drawn.zero? ? "" : @cursor.up(@drawn) + @cursor.column(1)

        def lines_of(status)
          [first_line(status), speed(status), outcomes(status), *origins(status)].compact
        end

        def first_line(status)
          finished = status.done + status.failed
          return truncate("#{status.name}  #{number(finished)}  #{state_or_eta(status)}") if status.total.nil?

          share = finished.fdiv([status.total, 1].max)
          end_of_line = "#{(share * 100).floor} %  #{number(finished)}/#{number(status.total)}  #{state_or_eta(status)}"
          bar = bar(share, @columns - status.name.size - end_of_line.size - 4)
          truncate([status.name, bar, end_of_line].compact.join("  "))
        end

        def bar(share, width)
          return if width < BAR

          full = ((width - 2) * share).floor
          "[#{"=" * full}#{" " * (width - 2 - full)}]"
        end

        def state_or_eta(status)
          return status.state.to_s unless status.state == :running

          "ETA #{status.eta ? duration(status.eta) : "-"}"
        end

        def speed(status)
          truncate("#{number(status.rate.round)}/s  #{number(status.in_flight)} in flight  " \
                   "#{number(status.failed)} failed")
        end

        # The outcomes, the most frequent first.
        def outcomes(status)
          counts = status.counts.sort_by { |outcome, items| [-items, outcome] }
          texts = counts.map { |outcome, items| [outcome, "#{outcome}: #{number(items)}"] }
          left = @columns + 2
          texts = texts.take_while { |_, text| (left -= text.size + 2) >= 0 }
          colored = texts.map { |outcome, text| @color.decorate(text, COLORS.fetch(outcome[/\A\d/], :red)) }
          colored.join("  ") unless colored.empty?
        end

        def origins(status)
          return if status.slowest_origins.empty?

          status.slowest_origins.map { |origin| truncate(format("%<seconds>9.3f s  %<url>s", origin.to_h)) }
            .unshift(@color.dim(truncate("slowest origins")))
        end

        # Control characters are replaced, because a terminal would execute them.
        def truncate(text) = text.gsub(/[^[:print:]]/, "?")[0, @columns]

        def number(value) = value.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")

        # @return [String] h:mm:ss
        def duration(seconds) = [seconds.ceil / 3600, *Time.at(seconds.ceil).utc.strftime("%M:%S")].join(":")
      end
    end
  end
end
