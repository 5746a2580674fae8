# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # One GET after the other over one kept connection, our thread asleep while it waits: requests/s and CPU beside each
    # other client.
    class OneAtATime
      CURL = "bare libcurl program"
      CPU_BARS = { CURL => [0.8, 0.6] }.freeze
      BARS = { CURL => [1.0, 1.1] }.freeze

      # @param origin [Symbol] :plain or :tls
      # @param beside_peers [Boolean] all clients, or the libcurl program alone
      def initialize(origin, path: Origin::SMALL, urls: "distinct", beside_peers: true)
        @origin = origin
        @path = path
        @urls = urls
        @beside_peers = beside_peers
      end

      def title
        "GET#{" over TLS" if @origin == :tls} of #{Origin.describe(@path)}, #{@urls} URLs, one at a time"
      end

      def call(suite)
        work = Work.gets(@path, urls: @urls)
        Competitors.open(suite, work, base: suite.origin.public_send(@origin)) do |competitors|
          competitors.add_first(Peers::Trunkline)
          competitors.add_bare_curl
          @beside_peers ? add_others(suite, competitors) : competitors.add(Peers::BareSocket)
          Comparison.new(suite, title: title, bars: BARS, cpu_bars: CPU_BARS).call(competitors)
        end
      end

      private

      def add_others(suite, competitors)
        competitors.add_wrk
        (suite.peers - [Peers::Trunkline]).each { |peer| add_peer(competitors, peer) }
      end

      # Net::HTTP is the one that people use both ways.
      def add_peer(competitors, peer)
        return competitors.add(peer) unless peer == Peers::NetHTTP

        competitors.add(peer, label: "Net::HTTP, started")
        competitors.add(peer, label: "Net::HTTP, fresh", keep: false)
      end
    end
  end
end
