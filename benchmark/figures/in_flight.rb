# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # Lists of GETs with a fixed number in flight, from one thread: requests/s compared with a libcurl multi program
    # that requests the same URLs, CPU compared with wrk's, and for one number in flight all other clients that support
    # lists.
    class InFlight
      WRK = "wrk"
      PEERS = { Comparison::FASTER_TYPHOEUS => [15, 30], "curb" => [2.7, 4], "async-http" => [5, 10],
                "wreq" => [3] }.freeze

      # @param origin [Symbol] :plain, :without_nopush or :tls
      # @param path [String]
      # @param urls [String] one of Paths::KINDS
      # @param curl [Array] how many times faster than the libcurl program Trunkline must be, and the target
      # @param wrk [Array, nil] the highest CPU per request relative to wrk's, and the target, at 50 in flight
      # @param concurrency [Array<Integer>] numbers of requests in flight
      # @param barred [Array<Integer>] the numbers in flight to which the bars apply
      # @param beside_peers [Integer, nil] the number in flight at which all other clients are measured too
      # @param ours [Hash] options of Peers::Trunkline; reuse_bodies: true when the libcurl program drops its bodies,
      # too
      # @param service [Module, nil] Service: a server to call instead of the origin
      def initialize(origin, path, urls:, curl:, wrk: nil, concurrency: [10, 50], barred: [10, 50], beside_peers: nil,
                     ours: {}, service: nil)
        @origin = origin
        @path = path
        @urls = urls
        @curl = curl
        @wrk = wrk
        @concurrency = concurrency
        @barred = barred
        @beside_peers = beside_peers
        @ours = ours
        @service = service
      end

      def title
        parts = ["GET#{" over TLS" if @origin == :tls}#{" from Puma" if @service} of #{Origin.describe(@path)}"]
        parts.push(("bodies reused" if @ours[:reuse_bodies]), nopush, "#{@urls} URLs")
        parts.push("by #{@ours[:by]}") if @ours[:by]
        parts.compact.join(", ")
      end

      def call(suite)
        return @service.serve(suite) { |base| compare_all(suite, base) } if @service

        compare_all(suite, suite.origin.public_send(@origin))
      end

      private

      # tcp_nopush matters for files alone: nginx sends a body that it generates itself in one segment anyway.
      def nopush
        return unless @path == Origin::MEDIUM && @origin != :tls

        @origin == :without_nopush ? "origin without tcp_nopush" : "origin with tcp_nopush"
      end

      def compare_all(suite, base) = @concurrency.each { |concurrency| compare(suite, base, concurrency) }

      def compare(suite, base, concurrency)
        work = Work.gets(@path, urls: @urls, concurrency: concurrency)
        Competitors.open(suite, work, base: base) do |competitors|
          competitors.add_first(Peers::Trunkline, **@ours)
          competitors.add_bare_curl
          competitors.add_wrk unless @origin == :tls
          others(suite).each { |peer| competitors.add(peer) } if concurrency == @beside_peers
          Comparison.new(suite, title: "#{title}, #{concurrency} in flight", bars: bars(concurrency),
                                cpu_bars: { WRK => (@wrk if concurrency == 50) }).call(competitors)
        end
      end

      def others(suite) = suite.peers.select { |peer| peer.method_defined?(:list) } - [Peers::Trunkline]

      def bars(concurrency)
        { **(@barred.include?(concurrency) ? { "bare libcurl program" => @curl } : {}),
          **(concurrency == @beside_peers ? PEERS : {}) }
      end
    end
  end
end
