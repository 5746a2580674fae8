# frozen_string_literal: true

require "trunkline/lab/peers/wreq"

module Bench
  module Peers
    class Wreq < ::Trunkline::Lab::Peers::Wreq
      THREADS = 10

      # It has no other way to do many at once.
      def list(path, count, _at_once, &block)
        client = @client ||= open
        call = Call.of(path: path)
        threads = Array.new(THREADS) { Thread.new { Array.new(count / THREADS) { body(client, call) } } }
        threads.flat_map(&:value).each(&block)
      end

      private

      def body(client, call)
        status, body = exchange(client, call)
        raise "status #{status}" unless status == 200

        body
      end
    end
  end
end
