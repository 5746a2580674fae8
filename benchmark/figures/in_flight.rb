# frozen_string_literal: true

require_relative "../support/comparison"

module Bench
  module Figures
    # Lists of GETs with so many in flight, from one thread: requests/s of ours beside a libcurl multi program, CPU
    # beside wrk, and at one number in flight all other clients that can do it.
    class InFlight
      AT_ONCE = [1, 10, 50, 200, 1000].freeze
      WITH_BARS = [10, 50].freeze
      CURL = { plain: [1.3, 2], tls: [1.4, 2] }.freeze
      PEERS = { Comparison::FASTER_TYPHOEUS => [15], "curb" => [2.7], "async-http" => [5], "wreq" => [3] }.freeze
      CPU_OF_WRK = [2, 1.3].freeze

      # @param beside_peers [Integer, nil] in flight
      # @param reuse [Boolean] our bodies are given back, as those of the libcurl program are: it drops them
      def initialize(scheme, path, beside_peers: nil, reuse: false)
        @scheme = scheme
        @path = path
        @beside_peers = beside_peers
        @reuse = reuse
      end

      def title
        "GET of #{Origin.body(@path).bytesize} B#{" over TLS" if @scheme == :tls}#{", bodies reused" if @reuse}"
      end

      def call(suite)
        (@reuse ? WITH_BARS : AT_ONCE).each { |at_once| compare(suite, at_once) }
      end

      private

      def compare(suite, at_once)
        name = "#{title}, #{at_once} in flight"
        Cast.open(suite, @scheme, path: @path, at_once: at_once) do |cast|
          cast.add_first(Peers::Trunkline, **(@reuse ? { reuse_bodies: true } : {}))
          cast.add_bare_curl
          cast.add_wrk if @scheme == :plain
          others(suite).each { |peer| cast.add(peer) } if at_once == @beside_peers
          pairs = Comparison.new(suite, title: name, bars: bars(at_once)).call(cast)
          add_cpu_beside_wrk(suite, pairs, name, at_once)
        end
      end

      def others(suite) = suite.peers.select { |peer| peer.method_defined?(:list) } - [Peers::Trunkline]

      def bars(at_once)
        return {} unless WITH_BARS.include?(at_once)

        { "bare libcurl program" => CURL.fetch(@scheme), **(at_once == @beside_peers ? PEERS : {}) }
      end

      def add_cpu_beside_wrk(suite, pairs, name, at_once)
        _, taken = pairs.by_member.find { |member, _| member.label == "wrk" }
        return unless taken&.any?

        bar, reach = CPU_OF_WRK if WITH_BARS.include?(at_once)
        suite.add(Figure.of(taken.map(&:times_the_cpu), name: "#{name}: CPU per request against wrk's", unit: "x",
                                                        better: "lower", bar: bar, reach: reach))
      end
    end
  end
end
