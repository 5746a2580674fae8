# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # Compares a facade with the library that it replaces, called the same way.
    class Facade
      # @param facade [Class] the peer that uses our facade
      # @param others [Hash{Class => Array, nil}] peer => bar and target
      # @param concurrency [Integer, nil] number of requests in flight; nil: one call after the other
      # @param faster_typhoeus [Array, nil] bar and target against the faster of several Typhoeus versions
      def initialize(title, origin, facade, others, concurrency: nil, faster_typhoeus: nil)
        @title = title
        @origin = origin
        @facade = facade
        @others = others
        @concurrency = concurrency
        @faster_typhoeus = faster_typhoeus
      end

      def title = "#{@title}, distinct URLs"

      def call(suite)
        work = Work.gets(Origin::SMALL, urls: "distinct", concurrency: @concurrency)
        Competitors.open(suite, work, base: suite.origin.public_send(@origin)) do |competitors|
          competitors.add_first(@facade)
          @others.each_key { |peer| competitors.add(peer) }
          Comparison.new(suite, title: title, bars: bars).call(competitors)
        end
      end

      private

      def bars = { **@others.transform_keys(&:label), Comparison::FASTER_TYPHOEUS => @faster_typhoeus }
    end
  end
end
