# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # One GET of 133 bytes after the other over one kept connection: requests/s of ours beside each other client's.
    class OneAtATime
      BARS = {
        plain: { "bare libcurl program" => [1.2, 1.6], "wrk" => [0.7, 0.9], "Net::HTTP, started" => [3, 5],
                 Comparison::FASTER_TYPHOEUS => [9, 15], "wreq" => [2.2, 4] },
        tls: { "bare libcurl program" => [1.4, 2] }
      }.freeze

      def initialize(scheme) = @scheme = scheme

      def title = "GET, kept alive#{" over TLS" if @scheme == :tls}"

      def call(suite)
        Cast.open(suite, @scheme) do |cast|
          cast.add_first(Peers::Trunkline)
          cast.add_bare_curl
          cast.add_wrk
          (suite.peers - [Peers::Trunkline]).each { |peer| add_peer(cast, peer) }
          Comparison.new(suite, title: title, bars: BARS.fetch(@scheme)).call(cast)
        end
      end

      private

      # Net::HTTP is the one that people use both ways.
      def add_peer(cast, peer)
        return cast.add(peer) unless peer == Lab::Peers::NetHTTP

        cast.add(peer, label: "Net::HTTP, started")
        cast.add(peer, label: "Net::HTTP, fresh", keep: false)
      end
    end
  end
end
