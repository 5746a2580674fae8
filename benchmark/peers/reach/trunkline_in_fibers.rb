# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    class TrunklineInFibers < Trunkline
      # One connection per fiber, which is async-http's default.
      MOST_CONNECTIONS = 1000

      label "Trunkline in fibers"

      gems "async" => ">= 2.20"

      def session(&block)
        require "async"
        Sync(&block)
      end

      # @return [Array<Array>] status and body of each
      def fibers(paths)
        client = @client ||= open
        paths.map { |path| ::Async::Task.current.async { exchange(client, Call.of(path: path)) } }.map(&:wait)
      end

      private

      def options = super.merge(max_connections_per_host: MOST_CONNECTIONS)
    end
  end
end
