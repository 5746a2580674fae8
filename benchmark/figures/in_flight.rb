# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # Lists of GETs with so many in flight, from one thread: requests/s beside a libcurl multi program that is given the
    # same URLs, CPU beside wrk, and at one number in flight all other clients that can do it.
    class InFlight
      WRK = "wrk"
      PEERS = { Comparison::FASTER_TYPHOEUS => [15, 30], "curb" => [2.7, 4], "async-http" => [5, 10],
                "wreq" => [3] }.freeze

      # @param origin [Symbol] :plain, :without_nopush or :tls
      # @param path [String]
      # @param urls [String] one of Paths::KINDS
      # @param curl [Array] how many times faster than the libcurl program it must be, and what to reach for
      # @param wrk [Array, nil] what the CPU of a request must be against wrk's, and what to reach for, at 50 in flight
      # @param at_once [Array<Integer>] in flight
      # @param barred [Array<Integer>] those in flight for which the bars hold
      # @param beside_peers [Integer, nil] in flight
      # @param ours [Hash] options of Peers::Trunkline: reuse_bodies: true, as the libcurl program drops its bodies; by:
      def initialize(origin, path, urls:, curl:, wrk: nil, at_once: [10, 50], barred: [10, 50], beside_peers: nil,
                     ours: {})
        @origin = origin
        @path = path
        @urls = urls
        @curl = curl
        @wrk = wrk
        @at_once = at_once
        @barred = barred
        @beside_peers = beside_peers
        @ours = ours
      end

      def title
        parts = ["GET#{" over TLS" if @origin == :tls} of #{Origin.describe(@path)}"]
        parts.push(("bodies reused" if @ours[:reuse_bodies]), nopush, "#{@urls} URLs")
        parts.push("by #{@ours[:by]}") if @ours[:by]
        parts.compact.join(", ")
      end

      def call(suite) = @at_once.each { |at_once| compare(suite, at_once) }

      private

      # Of files alone: what nginx makes itself leaves in one segment anyway.
      def nopush
        return unless @path == Origin::MEDIUM && @origin != :tls

        @origin == :without_nopush ? "origin without tcp_nopush" : "origin with tcp_nopush"
      end

      def compare(suite, at_once)
        work = Work.gets(@path, urls: @urls, at_once: at_once)
        Competitors.open(suite, work, base: suite.origin.public_send(@origin)) do |competitors|
          competitors.add_first(Peers::Trunkline, **@ours)
          competitors.add_bare_curl
          competitors.add_wrk unless @origin == :tls
          others(suite).each { |peer| competitors.add(peer) } if at_once == @beside_peers
          Comparison.new(suite, title: "#{title}, #{at_once} in flight", bars: bars(at_once),
                                cpu_bars: { WRK => (@wrk if at_once == 50) }).call(competitors)
        end
      end

      def others(suite) = suite.peers.select { |peer| peer.method_defined?(:list) } - [Peers::Trunkline]

      def bars(at_once)
        { **(@barred.include?(at_once) ? { "bare libcurl program" => @curl } : {}),
          **(at_once == @beside_peers ? PEERS : {}) }
      end
    end
  end
end
