# frozen_string_literal: true

require_relative "answer"
require_relative "capacity"
require_relative "config"
require_relative "forks"
require_relative "multi"
require_relative "origin"
require_relative "pool"
require_relative "switched"

module Trunkline
  # The engine in Ruby: the functions that use the network; see engine.rb for the contract.
  module Engine
    HTTP2 = Ruby::HTTP2.there?
    CODINGS = Ruby::Codings::NAMES

    class << self
      # Runs one exchange.
      # @param begun [Array, nil] gets the Response before anything is sent
      # @return [Response]
      def perform(pool, request, deadline, begun)
        answer = begin_answer(pool, request, deadline)
        response = Response._of(request, answer)
        begun&.push(response)
        answer.begin
        response
      ensure # an interrupt may end the call at any time
        response.__send__(:take_switched) if answer&.switched
      end

      # Ensures that the pool has an idle connection for the next call.
      # @return [Response] without a head or body
      def connect(pool, request)
        answer = begin_answer(pool, request, nil, only_connects: true)
        Response._of(request, answer).tap { answer.connect }
      end

      def max_connections=(count)
        Pool.locked { Ruby::Capacity.most = count }
      end

      # Limits HTTP/2 streams. Over HTTP/1.1 at most one piece of a streamed response is read ahead of its caller.
      def max_buffered_bytes=(bytes)
        Ruby::Budget.most = bytes
      end

      # @return [Hash{Symbol => Integer}]
      def process_stats
        Ruby::Dropped.clean
        { connections_in_use: Ruby::Capacity.used, max_connections: Ruby::Capacity.most,
          buffered_bytes: Ruby::Budget.used, max_buffered_bytes: Ruby::Budget.most }
      end

      # @return [Float] monotonic seconds
      def now = Ruby.now

      private

      def begin_answer(pool, request, deadline, **how)
        Ruby::Dropped.clean
        Ruby::Answer.new(Ruby::Exchange.new(pool, request, deadline, nil, **how))
      end
    end
  end
end
