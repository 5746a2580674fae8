# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # One GET after the other over one kept connection, with the calling thread asleep while it waits: requests/s and
    # CPU compared with each other client.
    class OneAtATime
      CURL = "bare libcurl program"
      CPU_BARS = { CURL => [0.8, 0.6] }.freeze
      BARS = { CURL => [1.0, 1.1] }.freeze

      # The name of each placement of the clients, and the core for it. With the origin on another core, each call also
      # costs the wake-up of that core, which on a virtual machine is most of the CPU time of every client.
      CORES = { "two cores" => Processes::CLIENT_CORE, "one core" => Processes::ORIGIN_CORE }.freeze

      # @param origin [Symbol] :plain or :tls
      # @param beside_peers [Boolean] whether to compare with all clients; if false, only with the libcurl program and a
      #   bare socket
      # @param on [String] one of CORES: whether client and origin run on the same core
      def initialize(origin, path: Origin::SMALL, urls: "distinct", beside_peers: true, on: "two cores")
        @origin = origin
        @path = path
        @urls = urls
        @beside_peers = beside_peers
        @on = on
      end

      def title
        "GET#{" over TLS" if @origin == :tls} of #{Origin.describe(@path)}, #{@urls} URLs, one at a time" \
          "#{", client and origin on one core" if @on == "one core"}"
      end

      def call(suite)
        work = Work.gets(@path, urls: @urls)
        Competitors.open(suite, work, base: suite.origin.public_send(@origin)) do |competitors|
          competitors.add_first(Peers::Trunkline, core: CORES.fetch(@on))
          competitors.add_bare_curl(core: CORES.fetch(@on))
          @beside_peers ? add_others(suite, competitors) : competitors.add(Peers::BareSocket, core: CORES.fetch(@on))
          Comparison.new(suite, title: title, bars: BARS, cpu_bars: CPU_BARS).call(competitors)
        end
      end

      private

      def add_others(suite, competitors)
        competitors.add_wrk
        (suite.peers - [Peers::Trunkline]).each { |peer| add_peer(competitors, peer) }
      end

      # Net::HTTP is measured both started and unstarted, as people use it both ways.
      def add_peer(competitors, peer)
        return competitors.add(peer) unless peer == Peers::NetHTTP

        competitors.add(peer, label: "Net::HTTP, started")
        competitors.add(peer, label: "Net::HTTP, fresh", keep: false)
      end
    end
  end
end
