# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # A face beside what it stands in for, called the same way.
    class Face
      attr_reader :title

      # @param face [Class] our peer
      # @param others [Hash{Class => Array, nil}] peer => what must hold, and what to reach for
      # @param at_once [Integer, nil] in flight; nil: one call after the other
      # @param faster_typhoeus [Array, nil] what must hold against the faster of several Typhoeuses
      def initialize(title, scheme, face, others, at_once: nil, faster_typhoeus: nil)
        @title = title
        @scheme = scheme
        @face = face
        @others = others
        @at_once = at_once
        @faster_typhoeus = faster_typhoeus
      end

      def call(suite)
        Cast.open(suite, @scheme, at_once: @at_once) do |cast|
          cast.add_first(@face)
          @others.each_key { |peer| cast.add(peer) }
          Comparison.new(suite, title: title, bars: bars).call(cast)
        end
      end

      private

      def bars = { **@others.transform_keys(&:label), Comparison::FASTER_TYPHOEUS => @faster_typhoeus }
    end
  end
end
