# frozen_string_literal: true

require "fileutils"
require "webrick"

# Takes pictures of the built site in Chromium, at the widths of a telephone and of a desk.
class SiteScreens
  WIDTHS = [390, 1400].freeze
  FLAGS = %w[--headless=old --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000].freeze

  def initialize(site, target)
    @site = File.expand_path(site)
    @target = File.expand_path(target)
  end

  # @param pages [Array<String>] without .html
  def take(pages)
    FileUtils.mkdir_p(@target)
    with_server do |url|
      pages.product(WIDTHS).each { |page, width| picture("#{url}/#{page}.html", page, width) }
    end
    puts "#{pages.size * WIDTHS.size} pictures in #{@target}"
  end

  private

  def picture(url, page, width)
    file = File.join(@target, "#{page.tr("/", "-")}-#{width}.png")
    system("chromium", *FLAGS, "--window-size=#{width},1600", "--screenshot=#{file}", url,
           out: File::NULL, err: File::NULL, exception: true)
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
