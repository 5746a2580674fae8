# frozen_string_literal: true

require "io/console"
require "stringio"
require "unicode_plot"

module Trunkline
  module Lab
    module Output
      # Charts for a terminal, limited to its width.
      module TextChart
        WIDEST = 100
        NARROWEST = 8
        AXES = 24 # columns that UnicodePlot adds on both sides

        module_function

        # @return [String, nil]
        def of(chart, color: false)
          case chart[:kind]
          when "sweep", "lines" then lines(chart, color)
          when "bars" then bars(chart, color)
          end
        end

        def lines(chart, color)
          series = chart[:series].reject { |one| one[:points].size < 2 }
          return if series.empty?

          top = series.flat_map { |one| one[:points].map { |point| point[:y] } }.max
          frame = { title: chart[:title], xlabel: chart[:x], ylabel: chart[:y], width: width, height: 15,
                    ylim: [0, (top * 1.05).ceil] }
          first, *others = series
          plot = UnicodePlot.lineplot(*points(first), name: first[:label], **frame)
          others.each { |one| UnicodePlot.lineplot!(plot, *points(one), name: one[:label]) }
          render(plot, color)
        end

        # @return [Array(Array, Array)] x and y values
        def points(series) = series[:points].map { |point| point.values_at(:x, :y) }.transpose

        def bars(chart, color)
          values = chart[:bars].to_h { |bar| [bar[:label], bar[:value].to_f.round(2)] }
          return if values.empty? || values.each_value.none?(&:positive?)

          render(UnicodePlot.barplot(data: values, title: "#{chart[:title]} (#{chart[:unit]})", width: width), color)
        end

        def render(plot, color)
          out = StringIO.new
          plot.render(out, color: color)
          out.string.chomp
        end

        def width = [columns.clamp(1, WIDEST) - AXES - 10, NARROWEST].max

        def columns
          IO.console&.winsize&.last.to_i.nonzero? || 80
        rescue SystemCallError
          80
        end
      end
    end
  end
end
