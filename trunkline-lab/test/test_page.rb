# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/lab/processes"

module Trunkline
  module Lab
    class TestPage < Minitest::Test
      FLAGS = %w[--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync
                 --disable-dev-shm-usage --enable-logging=stderr --v=0].freeze
      # Looks at every mark the way a pointer and the keyboard would, and writes what it saw into the title.
      LOOK = <<~JS
        const tip = document.getElementById("tip");
        const seen = [...document.querySelectorAll("[data-tip]")].map((mark) => {
          mark.dispatchEvent(new Event("pointerenter"));
          const hovered = !tip.hidden && tip.textContent === mark.dataset.tip;
          mark.dispatchEvent(new Event("pointerleave"));
          mark.focus();
          mark.dispatchEvent(new FocusEvent("focus")); // a page without a window is never told itself
          return hovered && document.activeElement === mark && !tip.hidden;
        });
        dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
        document.title = `marks ${seen.length} good ${seen.filter(Boolean).length} escaped ${tip.hidden}`;
      JS

      def result
        result = Result.new(command: "sweep", title: "A <title> & more", arguments: ["short"])
        result.figure([1.0, 2.0], name: "f", unit: "s")
        points = [1, 10, 100].map { |x| { x: x, y: x * 10.0, low: x * 9.0, high: x * 11.0, dot: 40 } }
        result.chart(:sweep, "sweep", x: "in flight", y: "requests/s", dots: "CPU %",
                                      series: [{ label: "Net::HTTP", ours: false, points: points },
                                               { label: "Trunkline", ours: true, points: points }])
        result.chart(:bars, "bars", unit: "ms", bars: [{ label: "Trunkline", value: 1.5, ours: true },
                                                       { label: "other", value: 3.0, ours: false }])
        result.table("numbers", %w[client value], [["Trunkline", 1], ["<b>", "2.0 %"]])
        result.say("A sentence with <b>.")
        result.missing["wreq"] = "needs Ruby"
        result.close
        JSON.parse(JSON.generate(result.to_h), symbolize_names: true)
      end

      def page = Output::Page.new([result, result.dup]).to_s

      def test_loads_nothing_from_anywhere
        refute_match(/(src|href)="(?!#|data:)/, page)
        refute_match(/url\(|@import|https?:/, page)
      end

      def test_escapes_what_it_shows
        assert_includes page, "A &lt;title&gt; &amp; more"
        refute_includes page, "<b>"
      end

      def test_can_be_read_without_eyes_or_a_pointer
        marks = page.scan(/<(?:circle|rect)[^>]*data-tip[^>]*>/)

        assert_equal 16, marks.size
        assert(marks.all? { |mark| mark.include?("tabindex=\"0\"") && mark.match?(/aria-label="[^"]+"/) })
        assert_equal page.scan("<table>").size, page.scan("<caption>").size
        assert_includes page, "<html lang=\"en\">"
        assert_includes page, "prefers-color-scheme: dark"
      end

      def test_opens_in_a_browser_without_an_error
        browser = %w[chromium chromium-browser google-chrome].filter_map { |name| Processes.available?(name) }.first
        skip "no Chromium here (bin/setup installs it where there is a package of it)" unless browser
        Dir.mktmpdir do |folder|
          file = File.join(folder, "page.html")
          File.write(file, page.sub("</script>", "#{LOOK}</script>"))
          output, status = Processes.run(browser, *FLAGS, "--user-data-dir=#{folder}/profile", "--dump-dom",
                                         "file://#{file}")

          assert_predicate status, :success?, output
          assert_includes output, "<title>marks 16 good 16 escaped true</title>"
          refute_match(/CONSOLE/, output)
        end
      end
    end
  end
end
