# frozen_string_literal: true

require_relative "checks"
require_relative "egress"
require_relative "failures"
require_relative "limits"
require_relative "waker"
require_relative "tls"
require_relative "../../of_main_ractor"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The engine's options for the calls of one client, and the TLS contexts that they share. Frozen, except for the
    # contexts.
    class Config
      include Redacted

      # Seconds of each phase by name; Float::INFINITY: no limit for the phase.
      attr_reader :timeouts
      # Seconds for the whole call, and seconds to wait for 100 (Continue); expect 0.0: no Expect field is sent.
      attr_reader :total, :expect
      attr_reader :max_body_bytes, :max_streamed_bytes, :max_decode_ratio, :max_connections, :idle_timeout, :max_age,
                  :limits, :owner, :http, :sockets, :egress

      # @param hash [Hash] see Options#to_engine
      def initialize(hash)
        Ruby::Checks.instance(hash, Hash)
        @anchor = OfMainRactor::ANCHOR
        @timeouts = Ruby::PHASES.to_h { |phase| [phase, seconds(hash.fetch(:timeouts).fetch(phase))] }.freeze
        @total = seconds(hash.fetch(:total))
        @expect = hash.fetch(:expect)
        take_limits(hash)
        @decode = hash.fetch(:decode)
        @replay_safe = hash.fetch(:replay_safe)
        @owner = hash.fetch(:owner)
        @http = HTTP2 ? hash.fetch(:http) : :h1
        @sockets = Ruby::SocketOptions.new(hash.fetch(:sockets))
        @egress = hash.fetch(:egress) && Ruby::Egress.new(hash.fetch(:egress))
        @contexts = Ruby::TLSContexts.new(hash.fetch(:tls), @http)
        freeze
      end

      def decode? = @decode
      def replay_safe? = @replay_safe

      # @return [Ruby::TLSContext]
      # @raise [Ruby::Failure]
      def tls = @contexts.own

      # @return [Ruby::TLSContext] for https proxies, which do not get the client certificate
      # @raise [Ruby::Failure]
      def proxy_tls = @contexts.for_proxies

      private

      def seconds(value) = value.nil? || value > Ruby::LONG ? Ruby::NEVER : value.to_f

      def take_limits(hash)
        @max_body_bytes = hash.fetch(:max_body_bytes)
        @max_streamed_bytes = hash.fetch(:max_streamed_bytes)
        @max_decode_ratio = hash.fetch(:max_decode_ratio)
        @max_connections = hash.fetch(:max_connections_per_host)
        @idle_timeout = seconds(hash.fetch(:idle_timeout))
        @max_age = seconds(hash.fetch(:max_age))
        @limits = Ruby::HeadLimits.of(hash.fetch(:max_header_bytes), hash.fetch(:max_headers), hash.fetch(:lenient))
      end
    end
  end
end
