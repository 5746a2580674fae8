# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../../trunkline-lab/test/support/browser" # also used by the test of the lab's page
require "tmpdir"
require "trunkline/insight"

# The panel in Chromium.
class TestPanel < TrunklineTest
  Browser = Trunkline::Lab::Browser
  # Attacks by which a page may affect the panel within it.
  HOSTILE = "<style>* { display: none; color: #fff; background: #fff } html, head, body, a { display: block }</style>"
  POLICY = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-n1'\">"

  def panel(nonce = nil)
    http = client(serve.url)
    report = Trunkline::Insight.watch("OrdersController#index") { 4.times { |id| http.get("/users/#{id}") } }
    Trunkline::Insight::Panel.new(report, nonce).to_s
  ensure
    Trunkline::Insight.clear
  end

  def show(html, head: "", width: 1000)
    skip "no Chromium here (bin/setup installs it where there is a package of it)" unless Browser.program
    Dir.mktmpdir do |folder|
      file = File.join(folder, "page.html")
      File.write(file, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>t</title>#{head}</head>" \
                       "<body><a href=\"#a\">first</a>#{html}</body></html>")
      Browser.open do |browser|
        browser.open(file, width: width)
        yield browser
      end
    end
  end

  def rectangle(browser, selector)
    browser.js("(({x, y, width, height}) => [x, y, width, height])" \
               "(document.querySelector('#{selector}').getBoundingClientRect())")
  end

  def test_the_keyboard_opens_and_closes_the_panel
    show(panel) do |browser|
      2.times { browser.press("Tab") }

      assert_equal "SUMMARY", browser.js("document.activeElement.tagName")
      assert_match(/\AHTTP: 4 calls, .* 1 finding\z/, browser.js("document.activeElement.innerText"))
      refute browser.js("document.querySelector('#trunkline-insight details').open")
      browser.press("Enter")

      assert browser.js("document.querySelector('#trunkline-insight details').open")
      shown = browser.js("document.querySelector('#trunkline-insight').innerText")

      assert_includes shown, "OrdersController#index: 4 calls"
      assert_equal 4, browser.js("document.querySelectorAll('#trunkline-insight tbody tr').length")
      browser.press("Tab")

      assert_equal "region", browser.js("document.activeElement.getAttribute('role')")
      assert_empty browser.complaints
    end
  end

  def test_the_panel_stays_in_a_corner_of_narrow_and_wide_windows
    [360, 1400].each do |width|
      show(panel, width: width) do |browser|
        browser.js("document.querySelector('#trunkline-insight details').open = true")
        x, y, wide, high = rectangle(browser, "#trunkline-insight")

        assert_operator x, :>=, 0, width
        assert_operator x + wide, :<=, width, width
        assert_in_delta 792, y + high, 1.0, width
        assert_equal width, browser.js("document.documentElement.scrollWidth"), width
      end
    end
  end

  def test_a_page_with_styles_for_everything_does_not_hide_it
    show(panel, head: HOSTILE) do |browser|
      assert_operator rectangle(browser, "#trunkline-insight summary")[3], :>, 15
      style = "getComputedStyle(document.querySelector('#trunkline-insight summary'))"

      assert_equal "rgb(29, 35, 48)", browser.js("#{style}.color")
    end
  end

  def test_the_panel_uses_the_nonce_of_a_content_security_policy
    show(panel("n1"), head: POLICY) do |browser|
      assert_empty browser.complaints
      assert_equal "fixed", browser.js("getComputedStyle(document.querySelector('#trunkline-insight')).position")
    end
  end
end
