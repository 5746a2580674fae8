# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/http2"

module Bench
  module Figures
    # Lists of GETs over one HTTP/2 connection, with a fixed number of concurrent streams, compared with a libcurl multi
    # program that also has one connection.
    class ReachStreams
      CONCURRENCY = 50
      BAR = [1.5, 2.5].freeze

      # @param urls [String] one of Paths::KINDS
      def initialize(urls = "distinct") = @urls = urls

      def title = "HTTP/2, #{CONCURRENCY} streams on one connection, #{@urls} URLs"

      def call(suite)
        HTTP2.verify(suite)
        count_connections(suite)
        work = Work.gets(Origin::SMALL, urls: @urls, concurrency: CONCURRENCY)
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
            ours.ask(:lists, path: Origin::SMALL, urls: @urls, concurrency: CONCURRENCY,
                             seconds: suite.options.seconds)
          end
        end
        suite.add(Figure.new(name: "#{title}: connections opened", value: opened, unit: "connections", bar: 1,
                             better: "lower", samples: 1))
      end
    end
  end
end
