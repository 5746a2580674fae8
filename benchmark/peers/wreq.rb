# frozen_string_literal: true

require "trunkline/lab/peers/wreq"

module Bench
  module Peers
    class Wreq < ::Trunkline::Lab::Peers::Wreq
      THREADS = 10

      # wreq has no other way to make concurrent requests.
      def list(paths, _concurrency, &block)
        client = @client ||= open
        shares = paths.each_slice(paths.size.fdiv(THREADS).ceil)
        threads = shares.map { |share| Thread.new { share.map { |path| body(client, Call.of(path: path)) } } }
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
