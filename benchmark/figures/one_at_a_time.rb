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
      STARTED = "Net::HTTP, started"

      # The name of each placement of the clients, and the core for it. With the origin on another core, each call also
      # costs the wake-up of that core, which on a virtual machine is most of the CPU time of every client.
      CORES = { "two cores" => Processes::CLIENT_CORE, "one core" => Processes::ORIGIN_CORE }.freeze

      # @param origin [Symbol] :plain or :tls
      # @param beside_peers [Boolean] whether to compare with all clients; if false, only with the libcurl program and a
      #   bare socket
      # @param on [String] one of CORES: whether client and origin run on the same core
      # @param service [Module, nil] Service: a server to call instead of the origin, which is so much slower than the
      #   clients that there are no bars; compared with Net::HTTP and the libcurl program
      def initialize(origin, path: Origin::SMALL, urls: "distinct", beside_peers: true, on: "two cores", service: nil)
        @origin = origin
        @path = path
        @urls = urls
        @beside_peers = beside_peers
        @on = on
        @service = service
      end

      def title
        server = " from Puma" if @service
        "GET#{" over TLS" if @origin == :tls}#{server} of #{Origin.describe(@path)}, #{@urls} URLs, one at a time" \
          "#{", client and origin on one core" if @on == "one core"}"
      end

      def call(suite)
        return @service.serve(suite) { |base| compare_at_service(suite, base) } if @service

        compare(suite, suite.origin.public_send(@origin), bars: BARS, cpu_bars: CPU_BARS) do |competitors|
          @beside_peers ? add_others(suite, competitors) : competitors.add(Peers::BareSocket, core: CORES.fetch(@on))
        end
      end

      private

      def compare_at_service(suite, base)
        compare(suite, base, cpu_bars: { CURL => nil, STARTED => nil }) do |competitors|
          competitors.add(Peers::NetHTTP, label: STARTED)
        end
      end

      # @yield [competitors] adds those to compare with, besides the libcurl program
      def compare(suite, base, **bars)
        Competitors.open(suite, Work.gets(@path, urls: @urls), base: base) do |competitors|
          competitors.add_first(Peers::Trunkline, core: CORES.fetch(@on))
          competitors.add_bare_curl(core: CORES.fetch(@on))
          yield competitors
          Comparison.new(suite, title: title, **bars).call(competitors)
        end
      end

      def add_others(suite, competitors)
        competitors.add_wrk
        (suite.peers - [Peers::Trunkline]).each { |peer| add_peer(competitors, peer) }
      end

      # Net::HTTP is measured both started and unstarted, as people use it both ways.
      def add_peer(competitors, peer)
        return competitors.add(peer) unless peer == Peers::NetHTTP

        competitors.add(peer, label: STARTED)
        competitors.add(peer, label: "Net::HTTP, fresh", keep: false)
      end
    end
  end
end
