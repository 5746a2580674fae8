# frozen_string_literal: true

require "cgi"

module Trunkline
  module Lab
    module Output
      # Charts as SVG: colours come from the page's style, every point can be focused and says what it is.
      class SVG
        WIDTH = 760
        HEIGHT = 340
        LEFT = 70
        RIGHT = 60
        TOP = 36
        BOTTOM = 46
        BAR = 28
        LABELS = 170..330
        LETTER = 7
        COLORS = 8

        def initialize(chart)
          @chart = chart
        end

        # @return [String]
        def to_s
          case @chart[:kind]
          when "sweep" then sweep
          when "bars" then bars
          else ""
          end
        end

        private

        # Requests/s as lines on the left axis, CPU as dots on the right one.
        def sweep
          @series = @chart[:series].reject { |one| one[:points].empty? }.partition { |one| one[:ours] }.flatten
          return "" if @series.empty?

          points = @series.flat_map { |one| one[:points] }
          @right = points.map { |point| point[:x] }.max.to_f
          @top = round_up(points.map { |point| point[:high] || point[:y] }.max.to_f)
          @dots = [100.0, round_up(points.map { |point| point[:dot].to_f }.max)].max
          frame(HEIGHT, "#{@chart[:title]}: #{@chart[:y]} as lines, #{@chart[:dots]} as dots") do
            [grid, legend, @series.each_with_index.map { |one, index| line(one, index) }].join
          end
        end

        def grid
          steps = (0..4).map do |step|
            y = across(step / 4.0)
            "<line class=\"grid\" x1=\"#{LEFT}\" x2=\"#{WIDTH - RIGHT}\" y1=\"#{y}\" y2=\"#{y}\"/>" +
              text(LEFT - 8, y + 4, short(@top * step / 4),
                   "end") + text(WIDTH - RIGHT + 8, y + 4, short(@dots * step / 4))
          end
          spread = ticks.map { |x| text(along(x), HEIGHT - BOTTOM + 18, x, "middle") }
          steps.join + spread.join + text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, @chart[:x], "middle") +
            text(LEFT - 60, 18, @chart[:y]) + text(WIDTH - 4, 18, @chart[:dots], "end")
        end

        # Labels that do not run into each other.
        def ticks
          xs = @series.flat_map { |one| one[:points].map { |point| point[:x] } }.uniq.sort
          xs.each_with_object([]) { |x, kept| kept << x if kept.empty? || along(x) - along(kept.last) > 28 }
        end

        def line(one, index)
          color = "c#{index % COLORS}"
          path = one[:points].map { |point| "#{along(point[:x])},#{height(point[:y])}" }.join(" ")
          marks = one[:points].map { |point| mark(one, point, color) }
          "<polyline class=\"line #{color}#{" ours" if one[:ours]}\" points=\"#{path}\"/>#{marks.join}"
        end

        def mark(one, point, color)
          x = along(point[:x])
          whisker = point[:low] && "<line class=\"whisker #{color}\" x1=\"#{x}\" x2=\"#{x}\" " \
                                   "y1=\"#{height(point[:low])}\" y2=\"#{height(point[:high])}\"/>"
          dot = "<circle class=\"dot #{color}\" cx=\"#{x}\" cy=\"#{across(point[:dot].to_f / @dots)}\" r=\"3\"/>"
          told = told(say(one, point))
          point = "<circle class=\"point #{color}\" cx=\"#{x}\" cy=\"#{height(point[:y])}\" r=\"5\" #{told}/>"
          "#{whisker}#{dot}#{point}"
        end

        def say(one, point)
          where = "#{one[:label]}, #{point[:x]} #{@chart[:x]}"
          spread = point[:low] && " (95 %: #{short(point[:low])} to #{short(point[:high])})"
          "#{where}: #{short(point[:y])} #{@chart[:y]}, #{point[:dot]} #{@chart[:dots]}#{spread}"
        end

        def legend
          x = WIDTH - RIGHT - 150
          back = "<rect class=\"legend\" x=\"#{x - 8}\" y=\"#{TOP - 6}\" width=\"156\" " \
                 "height=\"#{(@series.size * 18) + 8}\"/>"
          back + @series.each_with_index.map do |one, index|
            y = TOP + 14 + (index * 18)
            "<line class=\"line c#{index % COLORS}\" x1=\"#{x}\" x2=\"#{x + 22}\" y1=\"#{y - 4}\" y2=\"#{y - 4}\"/>" +
              text(x + 28, y, one[:label])
          end.join
        end

        def bars
          bars = @chart[:bars].reject { |bar| bar[:value].nil? }
          return "" if bars.empty?

          @labels = ((bars.map { |bar| bar[:label].size }.max * LETTER) + 12).clamp(LABELS)
          top = bars.map { |bar| bar[:value] }.max.to_f
          frame((bars.size * BAR) + 12, "#{@chart[:title]}, #{@chart[:unit]}") do
            bars.each_with_index.map { |bar, index| bar(bar, index * BAR, top) }.join
          end
        end

        def bar(bar, y, top)
          length = top.zero? ? 0 : ((WIDTH - @labels - 100) * bar[:value] / top).round(1)
          told = "#{bar[:label]}: #{short(bar[:value])} #{@chart[:unit]}"
          text(@labels - 8, y + 20, bar[:label], "end") +
            "<rect class=\"bar#{" ours" if bar[:ours]}\" x=\"#{@labels}\" y=\"#{y + 6}\" " \
            "width=\"#{[length, 1].max}\" height=\"#{BAR - 9}\" rx=\"3\" #{told(told)}/>" +
            text(@labels + length + 8, y + 20, short(bar[:value]))
        end

        def frame(height, label)
          "<svg viewBox=\"0 0 #{WIDTH} #{height}\" role=\"group\" aria-label=\"#{escape(label)}\">#{yield}</svg>"
        end

        # What a pointer, the keyboard and a screen reader are told.
        def told(text) = "tabindex=\"0\" role=\"img\" aria-label=\"#{escape(text)}\" data-tip=\"#{escape(text)}\""

        def text(x, y, text, anchor = "start")
          "<text x=\"#{x}\" y=\"#{y}\" text-anchor=\"#{anchor}\">#{escape(text.to_s)}</text>"
        end

        def along(x) = (LEFT + ((WIDTH - LEFT - RIGHT) * x / @right)).round(1)
        def height(y) = across(y / @top)
        def across(share) = (HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * share)).round(1)

        def round_up(number)
          return 1.0 unless number.positive?

          unit = 10.0**Math.log10(number).floor
          [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map { |factor| factor * unit }.find { |bound| bound >= number }
        end

        def short(number)
          return "-" if number.nil?

          rounded = number.abs >= 100 ? number.round : number.round(2)
          rounded = rounded.to_i if rounded == rounded.to_i
          rounded.to_s.gsub(/(\d)(?=(\d{3})+(\.|$))/, "\\1,")
        end

        def escape(text) = CGI.escapeHTML(text)
      end
    end
  end
end
