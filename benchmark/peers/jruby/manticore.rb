# frozen_string_literal: true

require "trunkline/lab/peer"

module Bench
  module Peers
    # Java's Apache HttpClient: one client with a pool, as is usual for manticore, and a thread for each call in flight.
    class Manticore < Trunkline::Lab::Peer
      label "manticore with threads, JRuby"
      lacks :fork

      MOST = 200
      private_constant :MOST

      def many(calls, concurrency, recorder)
        @client ||= open
        Array.new(concurrency) { Thread.new { make(@client, calls, recorder) } }.each(&:join)
      end

      private

      def open
        require "manticore"
        ::Manticore::Client.new(pool_max: MOST, pool_max_per_route: MOST, request_timeout: @timeout,
                                connect_timeout: @timeout, socket_timeout: @timeout)
      end

      def exchange(client, call)
        options = { headers: call.headers, body: call.body }.compact
        response = client.public_send(call.verb.downcase, url(call), options)
        [response.code, response.body.to_s]
      end

      def close(client) = client.close
    end
  end
end
