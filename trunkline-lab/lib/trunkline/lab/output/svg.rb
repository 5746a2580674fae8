# frozen_string_literal: true

require "cgi"
require_relative "scale"

module Trunkline
  module Lab
    module Output
      # Charts as SVG: colours come from the page's style sheet, every point can be focused and has a description. A
      # chart is drawn for one width; text keeps its size when the page shows the chart at that width.
      class SVG
        WIDE = 760
        NARROW = 340 # of a mobile phone, minus the page's margins
        LEFT = 58
        RIGHT = 40
        TOP = 30
        BOTTOM = 46
        HEIGHTS = { WIDE => 340, NARROW => 300 }.freeze
        BAR = 28
        BAR_NARROW = 44 # with the label above the bar
        LABELS = 170..330
        LETTER = 7
        VALUE = 100 # width reserved for a bar's value
        GAP = 34 # between the labels of ticks
        COLORS = 8

        # @param chart [Hash] from Result#chart
        # @param width [Integer] WIDE or NARROW
        def initialize(chart, width: WIDE)
          @chart = chart
          @width = width
          @series = chart[:series].to_a.reject { |one| one[:points].empty? }.partition { |one| one[:ours] }.flatten
        end

        # @return [String]
        def to_s
          case @chart[:kind]
          when "sweep", "lines" then lines
          when "bars" then bars
          else ""
          end
        end

        # The legend of the lines, next to the chart, so that it covers no line.
        # @return [Array(String, String)] classes of the line, and the label
        def legend = @series.each_with_index.map { |one, index| [style(one, index), one[:label]] }

        private

        # Lines on the left axis; for a sweep, also dots on the right axis.
        def lines
          return "" if @series.empty?

          @height = HEIGHTS.fetch(@width)
          scales
          frame(@height, "#{@chart[:title]}: #{@chart[:y]} as lines#{", #{@chart[:dots]} as dots" if dots?}") do
            [grid, *@series.each_with_index.map { |one, index| line(one, index) }.reverse].join # the first on top
          end
        end

        def dots? = @chart.key?(:dots)

        # An axis with values of zero is not logarithmic; nor is the horizontal axis of a chart without dots.
        def scales
          points = @series.flat_map { |one| one[:points] }
          ups = points.flat_map { |point| point.values_at(:y, :low, :high).compact }
          @across = Scale.new(points.map { |point| point[:x] }, zero: false, wide: dots? ? 20.0 : Float::INFINITY)
          @up = Scale.new(ups, wide: dots? || ups.all?(&:positive?) ? Scale::WIDE : Float::INFINITY)
          @dots = Scale.new([100.0, *points.map { |point| point[:dot].to_f }], wide: Float::INFINITY)
        end

        def grid
          lines = @up.ticks.map do |tick|
            y = height(tick)
            "<line class=\"grid\" x1=\"#{LEFT}\" x2=\"#{@width - RIGHT}\" y1=\"#{y}\" y2=\"#{y}\"/>" +
              text(LEFT - 6, y + 4, short(tick), "end")
          end
          right = dots? ? @dots.ticks : []
          right = right.map { |tick| text(@width - RIGHT + 10, level(@dots.share(tick)) + 4, short(tick)) }
          [*lines, *right, *ticks.map { |x| text(along(x), @height - BOTTOM + 18, x, "middle") }, names].join
        end

        def names
          text((LEFT + @width - RIGHT) / 2, @height - 8, name(@chart[:x], @across), "middle") +
            text(4, 16, name(@chart[:y], @up)) + (dots? ? text(@width - 4, 16, @chart[:dots], "end") : "")
        end

        def name(text, scale) = scale.log? ? "#{text} (log scale)" : text

        # Ticks whose labels do not overlap.
        def ticks
          xs = @series.flat_map { |one| one[:points].map { |point| point[:x] } }.uniq.sort
          xs.each_with_object([]) { |x, kept| kept << x if kept.empty? || along(x) - along(kept.last) > GAP }
        end

        def line(one, index)
          path = one[:points].map { |point| "#{along(point[:x])},#{height(point[:y])}" }.join(" ")
          marks = one[:points].map { |point| mark(one, point, color(index)) }
          "<polyline class=\"#{style(one, index)}\" points=\"#{path}\"/>#{marks.join}"
        end

        def style(one, index)
          "line #{color(index)}#{" ours" if one[:ours]}#{" limit" if one[:label].start_with?("limit:")}"
        end

        # After the last colour, the first ones are used again with dotted lines.
        def color(index) = "c#{index % COLORS}#{" again" if index >= COLORS}"

        def mark(one, point, color)
          x = along(point[:x])
          whisker = point[:low] && "<line class=\"whisker #{color}\" x1=\"#{x}\" x2=\"#{x}\" " \
                                   "y1=\"#{height(point[:low])}\" y2=\"#{height(point[:high])}\"/>"
          if dots?
            cy = level(@dots.share(point[:dot].to_f))
            dot = "<circle class=\"dot #{color}\" cx=\"#{x}\" cy=\"#{cy}\" r=\"2.5\"/>"
          end
          told = told(say(one, point))
          point = "<circle class=\"point #{color}\" cx=\"#{x}\" cy=\"#{height(point[:y])}\" r=\"5\" #{told}/>"
          "#{whisker}#{dot}#{point}"
        end

        def say(one, point)
          where = "#{one[:label]}, #{point[:x]} #{@chart[:x]}"
          spread = point[:low] && " (95 %: #{short(point[:low])} to #{short(point[:high])})"
          dot = ", #{point[:dot]} #{@chart[:dots]}" if dots?
          "#{where}: #{short(point[:y])} #{@chart[:y]}#{dot}#{spread}"
        end

        def bars
          bars = @chart[:bars].reject { |bar| bar[:value].nil? }
          return "" if bars.empty?

          narrow = @width == NARROW
          @labels = narrow ? 0 : ((bars.map { |bar| bar[:label].size }.max * LETTER) + 12).clamp(LABELS)
          step = narrow ? BAR_NARROW : BAR
          top = bars.map { |bar| bar[:value] }.max.to_f
          frame((bars.size * step) + 12, "#{@chart[:title]}, #{@chart[:unit]}") do
            bars.each_with_index.map { |bar, index| bar(bar, index * step, top, narrow) }.join
          end
        end

        def bar(bar, y, top, narrow)
          length = top.zero? ? 0 : ((@width - @labels - VALUE) * bar[:value] / top).round(1)
          told = "#{bar[:label]}: #{short(bar[:value])} #{@chart[:unit]}"
          label = narrow ? text(6, y + 18, bar[:label]) : text(@labels - 8, y + 20, bar[:label], "end")
          left = narrow ? 6 : @labels
          y += BAR_NARROW - BAR if narrow
          label + "<rect class=\"bar#{" ours" if bar[:ours]}\" x=\"#{left}\" y=\"#{y + 6}\" " \
                  "width=\"#{[length, 1].max}\" height=\"#{BAR - 9}\" rx=\"3\" #{told(told)}/>" +
            text(left + length + 8, y + 20, short(bar[:value]))
        end

        def frame(height, label)
          "<svg class=\"#{@width == NARROW ? "narrow" : "wide"}\" viewBox=\"0 0 #{@width} #{height}\" role=\"group\" " \
            "aria-label=\"#{escape(label)}\">#{yield}</svg>"
        end

        # Attributes for the mouse, the keyboard and screen readers.
        def told(text) = "tabindex=\"0\" role=\"img\" aria-label=\"#{escape(text)}\" data-tip=\"#{escape(text)}\""

        def text(x, y, text, anchor = "start")
          "<text x=\"#{x}\" y=\"#{y}\" text-anchor=\"#{anchor}\">#{escape(text.to_s)}</text>"
        end

        def along(x) = (LEFT + ((@width - LEFT - RIGHT) * @across.share(x))).round(1)
        def height(y) = level(@up.share(y))
        def level(share) = (@height - BOTTOM - ((@height - TOP - BOTTOM) * share)).round(1)

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
