# frozen_string_literal: true

require "fileutils"
require "webrick"

$LOAD_PATH.unshift(*%w[lib test].map { |folder| File.expand_path("../../trunkline-lab/#{folder}", __dir__) })
require "support/browser"

# Takes a screenshot of each page of the built site in Chromium, at the widths of a telephone and of a desktop.
class SiteScreens
  WIDTHS = [390, 1400].freeze
  # Finds content that a reader cannot reach: a page wider than the window, and elements that exceed the window or their
  # column, unless they are in a box that scrolls.
  CUT = <<~JAVASCRIPT
    (() => {
      const column = document.querySelector('.vp-doc')
      const limit = Math.min(innerWidth, column.getBoundingClientRect().right) + 1
      const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX)
      const inBox = (element) => element !== column && (scrolls(element) || inBox(element.parentElement))
      const cut = [...column.querySelectorAll('*')].filter((element) => {
        const { width, right } = element.getBoundingClientRect()
        return width > 0 && right > limit && !inBox(element)
      })
      const wide = document.documentElement.scrollWidth > innerWidth ? ['the page'] : []
      return wide.concat(cut.map((element) => `${element.tagName}: ${element.textContent.slice(0, 60)}`))
    })()
  JAVASCRIPT

  def initialize(site, target)
    @site = File.expand_path(site)
    @target = File.expand_path(target)
  end

  # Raises when something is cut.
  def take
    FileUtils.mkdir_p(@target)
    pages = Dir.glob("**/*.html", base: @site) - ["404.html"]
    cut = with_server do |url|
      Trunkline::Lab::Browser.open do |browser|
        pages.product(WIDTHS).flat_map { |page, width| look(browser, url, page, width) }
      end
    end
    puts "#{pages.size * WIDTHS.size} pictures in #{@target}"
    raise "cut:\n#{cut.join("\n")}" unless cut.empty?
  end

  private

  # @return [Array<String>] what is cut
  def look(browser, url, page, width)
    browser.go("#{url}/#{page}", width: width)
    File.binwrite(File.join(@target, "#{page.delete_suffix(".html").tr("/", "-")}-#{width}.png"), browser.screenshot)
    browser.js(CUT).map { |element| "#{page} at #{width}: #{element}" }
  end

  def with_server
    server = WEBrick::HTTPServer.new(DocumentRoot: @site, BindAddress: "127.0.0.1", Port: 0, AccessLog: [],
                                     Logger: WEBrick::Log.new(File::NULL))
    thread = Thread.new { server.start }
    yield "http://127.0.0.1:#{server.listeners.first.addr[1]}"
  ensure
    server&.shutdown
    thread&.join
  end
end
