# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # A facade beside the library that it replaces, called the same way.
    class Facade
      # @param facade [Class] our peer
      # @param others [Hash{Class => Array, nil}] peer => what must hold, and what to reach for
      # @param at_once [Integer, nil] in flight; nil: one call after the other
      # @param faster_typhoeus [Array, nil] what must hold against the faster of several Typhoeuses
      def initialize(title, origin, facade, others, at_once: nil, faster_typhoeus: nil)
        @title = title
        @origin = origin
        @facade = facade
        @others = others
        @at_once = at_once
        @faster_typhoeus = faster_typhoeus
      end

      def title = "#{@title}, distinct URLs"

      def call(suite)
        work = Work.gets(Origin::SMALL, urls: "distinct", at_once: @at_once)
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
