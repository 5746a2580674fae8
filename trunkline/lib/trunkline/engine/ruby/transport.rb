# frozen_string_literal: true

require_relative "response_state"
require_relative "capacity"
require_relative "checks"
require_relative "config"
require_relative "forks"
require_relative "multi"
require_relative "origin"
require_relative "pool"
require_relative "switched"

module Trunkline
  # The engine in Ruby: the functions that use the network; see engine.rb for the contract.
  module Engine
    HTTP2 = Ruby::HTTP2.available?
    CODINGS = Ruby::Codings::NAMES

    class << self
      # Runs one exchange.
      # @param begun [Array, nil] gets the Response before anything is sent
      # @return [Response]
      def perform(pool, request, deadline, begun)
        Ruby::Checks.instance(begun, Array) if begun
        state = begin_exchange(pool, request, deadline)
        response = Response._of(request, state)
        begun&.push(response)
        state.begin
        response
      ensure # an interrupt may end the call at any time
        response.__send__(:take_switched) if state&.switched
      end

      # Ensures that the pool has an idle connection for the next call.
      # @return [Response] without a head or body
      def connect(pool, request)
        state = begin_exchange(pool, request, nil, only_connects: true)
        Response._of(request, state).tap { state.connect }
      end

      def max_connections=(count)
        count = Ruby::Checks.count(count) unless count.nil?
        Pool.locked { Ruby::Capacity.limit = count }
      end

      # Limits HTTP/2 streams. Over HTTP/1.1 at most one piece of a streamed response is read ahead of its caller.
      def max_buffered_bytes=(bytes)
        Ruby::Budget.limit = Ruby::Checks.integer_or_nil(bytes)
      end

      # @return [Hash{Symbol => Integer}]
      def process_stats
        Ruby::Dropped.clean
        { connections_in_use: Ruby::Capacity.used, max_connections: Ruby::Capacity.limit,
          buffered_bytes: Ruby::Budget.used, max_buffered_bytes: Ruby::Budget.limit }
      end

      # @return [Float] monotonic seconds
      def now = Ruby.now

      private

      def begin_exchange(pool, request, deadline, **options)
        Ruby::Dropped.clean
        Ruby::Checks.exchange(pool, request, deadline)
        Ruby.need_key(request)
        Ruby::ResponseState.new(Ruby::Exchange.new(pool, request, deadline, nil, **options))
      end
    end
  end
end
