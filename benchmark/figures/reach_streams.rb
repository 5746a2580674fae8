# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/http2"

module Bench
  module Figures
    # Lists of GETs over one connection of HTTP/2, with so many streams at once, beside a libcurl multi program that
    # has one connection as well.
    class ReachStreams
      AT_ONCE = 50
      BAR = [0.9, 1.3].freeze

      def title = "HTTP/2, #{AT_ONCE} streams on one connection"

      def call(suite)
        HTTP2.verify(suite)
        count_connections(suite)
        Cast.open(suite, :http2, at_once: AT_ONCE) do |cast|
          cast.add_first(Peers::Trunkline, http: "h2")
          cast.add_bare_curl(http2: true)
          Comparison.new(suite, title: title, bars: { "bare libcurl program" => BAR }).call(cast)
        end
      end

      private

      def count_connections(suite)
        opened = suite.origin.connections do
          HTTP2.with_ours(suite) do |ours|
            ours.ask(:lists, path: Origin::SMALL, at_once: AT_ONCE, seconds: suite.settings.seconds)
          end
        end
        suite.add(Figure.new(name: "#{title}: connections opened", value: opened, unit: "connections", bar: 1,
                             better: "lower", samples: 1))
      end
    end
  end
end
