# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/browser"

module Trunkline
  module Lab
    class TestPage < Minitest::Test
      def result
        result = Result.new(command: "sweep", title: "A <title> & more", arguments: ["short"])
        result.figure([1.0, 2.0], name: "f", unit: "s")
        points = [1, 10, 100].map { |x| { x: x, y: x * 10.0, low: x * 9.0, high: x * 11.0, dot: 40 } }
        far = points.map { |point| point.merge(y: point[:y] * 40, low: nil, high: nil) }
        result.chart(:sweep, "sweep", x: "in flight", y: "requests/s", dots: "CPU %",
                                      series: [{ label: "Net::HTTP", ours: false, points: points },
                                               { label: "Trunkline", ours: true, points: points },
                                               { label: "limit: wrk", ours: false, points: far }])
        result.chart(:bars, "bars", unit: "ms", bars: [{ label: "Trunkline", value: 1.5, ours: true },
                                                       { label: "other", value: 3.0, ours: false }])
        result.table("numbers", %w[client value], [["Trunkline", 1], ["<b>", "2.0 %"]])
        columns = Array.new(13) { |number| "column us #{number}" }
        result.table("many columns", columns, [["Trunkline", *Array.new(12) { |number| 123_456 + number }]])
        result.say("A sentence with <b>.")
        result.missing["wreq"] = "needs Ruby"
        result.close
        JSON.parse(JSON.generate(result.to_h), symbolize_names: true)
      end

      def page = Output::Page.new([result, result.dup]).to_s

      def test_loads_no_external_resources
        refute_match(/(src|href)="(?!#|data:)/, page)
        refute_match(/url\(|@import|https?:/, page)
      end

      def test_escapes_text
        assert_includes page, "A &lt;title&gt; &amp; more"
        refute_includes page, "<b>"
      end

      def test_columns_of_numbers_are_right_aligned_and_others_left_aligned
        result = self.result
        result[:tables] = [{ title: "t", columns: %w[client numbers words],
                             rows: [["Trunkline", 1, 0], ["other", "-", "3 of 4"]] }]
        cells = Output::Page.new([result]).to_s.scan(%r{<t[hd][^>]*>[^<]*</t[hd]>})

        assert_equal ["<th scope=\"col\" class=\"number\">numbers</th>", "<td class=\"number\">1</td>",
                      "<td class=\"number\">-</td>"], cells.grep(/number/)
      end

      def test_is_accessible_to_screen_readers_and_the_keyboard
        marks = page.scan(/<(?:circle|rect)[^>]*data-tip[^>]*>/)

        assert_equal 44, marks.size # of two results, at two widths each
        assert(marks.all? { |mark| mark.include?("tabindex=\"0\"") && mark.match?(/aria-label="[^"]+"/) })
        assert_equal page.scan("<table>").size, page.scan("<caption>").size
        assert_includes page, "<html lang=\"en\">"
        assert_includes page, "prefers-color-scheme: dark"
      end

      def test_the_narrow_chart_has_the_same_content_as_the_wide_one
        wide, narrow = %w[wide narrow].map do |width|
          page.scan(%r{<svg class="#{width}".*?</svg>}m).map { |svg| svg.scan(/data-tip="([^"]+)"/) }
        end

        assert_equal wide, narrow
        assert_equal 4, wide.size
      end

      # On a linear axis zero is a value like any other.
      def test_a_chart_over_time_has_one_linear_axis_and_no_dots
        points = [[0, 0], [5, 1], [10, 400]].map { |x, y| { x: x, y: y } }
        chart = { kind: "lines", title: "load", x: "seconds", y: "requests/s",
                  series: [{ label: "Trunkline", ours: true, points: points }] }
        drawn = Output::SVG.new(chart).to_s

        assert_includes drawn, "data-tip=\"Trunkline, 10 seconds: 400 requests/s\""
        assert_equal 3, drawn.scan("<circle class=\"point").size
        refute_match(/class="dot|log scale|dots/, drawn)
      end

      def lines(count, y: ->(number, x) { number + x })
        series = Array.new(count) do |number|
          { label: number.zero? ? "Trunkline" : "client #{number}", ours: number.zero?,
            points: (0..2).map { |x| { x: x, y: y.call(number, x) } } }
        end
        Output::SVG.new({ kind: "lines", title: "t", x: "busy threads", y: "ms", series: series })
      end

      def test_each_of_a_dozen_lines_has_a_unique_style
        drawn = lines(13)

        assert_equal 13, drawn.legend.map(&:first).uniq.size
        assert_equal drawn.legend.map(&:first).sort, drawn.to_s.scan(/<polyline class="([^"]+)"/).flatten.sort
        assert_equal 13, drawn.to_s.scan(/<circle class="(point [^"]+)"/).flatten.uniq.size
      end

      def test_our_line_is_above_the_others
        assert_equal "Trunkline", lines(3).to_s.scan(/data-tip="([^,]+),/).flatten.last
      end

      def test_lines_that_are_never_zero_and_far_apart_have_a_logarithmic_axis
        drawn = lines(3, y: ->(number, _) { 5 * (20**number) }).to_s

        assert_includes drawn, "ms (log scale)"
        refute_includes drawn, "busy threads (log scale)"
      end

      def test_a_row_far_above_the_others_makes_the_axis_logarithmic
        assert_includes page, "requests/s (log scale)"
        scale = Output::Scale.new([100, 1_000, 100_000])

        assert_predicate scale, :log?
        assert_in_delta 1 / 3.0, scale.share(1_000)
        assert_equal [0.0, 1.0, 0.0], [100, 100_000, 0].map { |value| scale.share(value) }
        refute_predicate Output::Scale.new([100, 900]), :log?
        assert_equal [0.0, 25.0, 50.0, 75.0, 100.0], Output::Scale.new([90, 40]).ticks.map(&:to_f)
      end

      # The height of the smallest label, in pixels of the window.
      LETTERS = <<~JS
        Math.min(...[...document.querySelectorAll("figure > svg text")].filter((text) => text.checkVisibility())
          .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))
      JS
      # Elements wider than the page: their own right edge, or that of a cell, is beyond it.
      OVERFLOW = <<~JS
        [...document.querySelectorAll("td, th, pre, svg")].filter((one) => one.checkVisibility())
          .filter((one) => one.getBoundingClientRect().right > innerWidth + 1).length
      JS
      # Whether the labels of lines are apart from the charts below them.
      LEGENDS_APART = <<~JS
        [...document.querySelectorAll("figure")].every((figure) => {
          const legend = figure.querySelector("ul.legend");
          const chart = [...figure.querySelectorAll(":scope > svg")].find((svg) => svg.checkVisibility());
          return !legend || legend.getBoundingClientRect().bottom <= chart.getBoundingClientRect().top;
        })
      JS

      # The marks of the charts that are visible at this width.
      MARKS = "[...document.querySelectorAll('[data-tip]')].filter((one) => one.checkVisibility())"

      # @yield [browser, path] the path of the result's page
      def browse
        skip "no Chromium here (bin/setup installs it where there is a package of it)" unless Browser.program
        Dir.mktmpdir do |folder|
          file = File.join(folder, "page.html")
          File.write(file, page)
          Browser.open { |browser| yield browser, file }
        end
      end

      def test_can_be_read_on_a_wide_screen_on_a_telephone_and_on_paper
        browse do |browser, file|
          [1400, 390].each do |width|
            browser.open(file, width: width)

            assert_operator browser.js(LETTERS), :>=, 11, "at #{width}"
            assert_equal width, browser.js("document.documentElement.scrollWidth")
            assert browser.js(LEGENDS_APART), "at #{width}"
          end
          browser.print_to_screen(1030) # A4 across, less its margins

          assert_equal 0, browser.js(OVERFLOW)
          assert_empty browser.complaints
        end
      end

      def test_pointer_and_keyboard_show_the_tooltip_of_a_mark
        browse do |browser, file|
          [1400, 390].each do |width|
            browser.open(file, width: width)

            assert_equal 22, browser.js("#{MARKS}.length")
            [0, 4, 9, 10].each { |number| assert_pointed(browser, number) }
            assert_focused(browser)
          end
          assert_empty browser.complaints
        end
      end

      # Points at a mark: the screenshot must change, and be the same as before when the pointer has left.
      def assert_pointed(browser, number)
        mark = "#{MARKS}[#{number}]"
        browser.js("#{mark}.scrollIntoView({ block: 'center' })")
        browser.point(1, 1)
        before = browser.screenshot
        x, y = browser.js("(({ left, top, width, height }) => [left + width / 2, top + height / 2])" \
                          "(#{mark}.getBoundingClientRect())")
        browser.point(x, y)

        assert_equal browser.js("document.elementFromPoint(#{x}, #{y}).dataset.tip"), browser.js("tip.textContent")
        assert browser.js("(({ left, top, right, bottom }) => !tip.hidden && left >= 0 && top >= 0 && " \
                          "right <= innerWidth && bottom <= innerHeight)(tip.getBoundingClientRect())")
        refute_equal before, browser.screenshot
        browser.point(1, 1)

        assert browser.js("tip.hidden")
        assert_equal before, browser.screenshot
      end

      def assert_focused(browser)
        browser.js("#{MARKS}[1].focus()")

        assert_equal browser.js("document.activeElement.dataset.tip"), browser.js("tip.hidden ? null : tip.textContent")
        browser.press("Escape")

        assert browser.js("tip.hidden")
      end
    end
  end
end
