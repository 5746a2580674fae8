# frozen_string_literal: true

require_relative "seconds"

module Trunkline
  module Insight
    # Something about the calls of a watch that can be improved. Frozen.
    #
    #   kind      :loop (calls of the same shape, one after another), :repeated (the same URL again), :connections (a
    #             new connection for each call), :timeouts (no timeout was set) or :transaction (calls inside a
    #             database transaction)
    #   host      "api.test"
    #   what      "15 calls to api.test one after another (GET /users/:id x 14)"
    #   remedy    what the estimate is for: "Side by side"; nil without an estimate
    #   advice    a sentence with the recommended change
    #   calls     Array<Call>
    #   seconds   Float, how long the calls took
    #   estimate  Float, how long they would take; nil when nothing would be faster
    #   of        Float, duration of the watch in seconds
    Finding = Struct.new(:kind, :host, :what, :remedy, :advice, :calls, :seconds, :estimate, :of, keyword_init: true) do
      def initialize(**)
        super
        freeze
      end

      # @return [Float] seconds that following the advice saves
      def saves = estimate ? [seconds - estimate, 0.0].max : 0.0

      # @return [Array<String>] the lines of the caller's code, the most frequent first
      def places = calls.map(&:place).tally.sort_by { |_, count| -count }.map(&:first)

      # @return [String] the first of #places
      def place = places.first

      # @return [String] "15 calls to ... (GET /users/:id x 14), 1.84 s of 2.10 s. Side by side: about 0.21 s. place"
      def to_s
        more = places.size - 1
        ["#{what}, #{Seconds.of(seconds)} of #{Seconds.of(of)}.",
         ("#{remedy}: about #{Seconds.of(estimate)}." if remedy), place,
         ("(and #{more} other place#{"s" if more > 1})" if more.positive?)].compact.join(" ")
      end
    end
  end
end
