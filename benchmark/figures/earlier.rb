# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../support/earlier"

module Bench
  module Figures
    # GETs of 133 bytes, compared in the same run with Trunkline at an earlier commit.
    class Earlier
      BARS = { "repeated" => [0.95, 1.1] }.freeze

      # @param urls [String] one of Paths::KINDS; the bars apply to "repeated" only
      # @param concurrency [Integer, nil] number of requests in flight; nil: one after the other
      # @param by [String] the method that makes lists
      def initialize(urls, concurrency: nil, by: "each")
        @urls = urls
        @concurrency = concurrency
        @by = by
      end

      def title
        way = @concurrency ? "#{@concurrency} in flight by #{@by}" : "one at a time"
        "Against an earlier commit: GET of #{Origin.describe(Origin::SMALL)}, #{@urls} URLs, #{way}"
      end

      def call(suite)
        commit = suite.options.earlier
        library = Bench::Earlier.library(commit)
        label = "Trunkline at #{commit}"
        Competitors.open(suite, Work.gets(Origin::SMALL, urls: @urls, concurrency: @concurrency)) do |competitors|
          competitors.add_first(Peers::Trunkline, by: @by)
          competitors.add(Peers::TrunklineBefore, label: label, library: library, by: @by)
          Comparison.new(suite, title: title, bars: { label => BARS[@urls] }, cpu_bars: { label => nil })
            .call(competitors)
        end
      end
    end
  end
end
