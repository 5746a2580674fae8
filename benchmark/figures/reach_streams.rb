# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/http2"

module Bench
  module Figures
    # Lists of GETs over one connection of HTTP/2, with so many streams at once, beside a libcurl multi program that
    # has one connection as well.
    class ReachStreams
      AT_ONCE = 50
      BAR = [1.5, 2.5].freeze

      # @param urls [String] one of Paths::KINDS
      def initialize(urls = "distinct") = @urls = urls

      def title = "HTTP/2, #{AT_ONCE} streams on one connection, #{@urls} URLs"

      def call(suite)
        HTTP2.verify(suite)
        count_connections(suite)
        work = Work.gets(Origin::SMALL, urls: @urls, at_once: AT_ONCE)
        Competitors.open(suite, work, base: suite.origin.http2) do |competitors|
          competitors.add_first(Peers::Trunkline, http: "h2")
          competitors.add_bare_curl(http2: true)
          Comparison.new(suite, title: title, bars: { "bare libcurl program" => BAR }).call(competitors)
        end
      end

      private

      def count_connections(suite)
        opened = suite.origin.connections do
          HTTP2.with_ours(suite) do |ours|
            ours.ask(:lists, path: Origin::SMALL, urls: @urls, at_once: AT_ONCE, seconds: suite.settings.seconds)
          end
        end
        suite.add(Figure.new(name: "#{title}: connections opened", value: opened, unit: "connections", bar: 1,
                             better: "lower", samples: 1))
      end
    end
  end
end
