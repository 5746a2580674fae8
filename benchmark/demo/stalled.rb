# frozen_string_literal: true

module Bench
  module Demo
    # A server that takes the request and never answers, and a client that was told to wait one second.
    class Stalled
      TIMEOUT = 1

      attr_reader :rows

      def initialize(server)
        @server = server
        @rows = []
      end

      def title = "A server that never answers, timeout #{TIMEOUT} s"

      def explanation = "Seconds until the call ended, requests that the server saw, and how the call ended."

      def headings = ["client", "seconds", "attempts", "ended with"]

      def take(peer)
        process = PeerProcess.new(peer, base: @server.base, timeout: TIMEOUT)
        outcome = nil
        attempts = @server.attempts { outcome = process.ask(:outcome, path: "/") }
        rows << [peer.label, format("%.2f", outcome[:wall]), attempts.to_s, outcome[:ended_with]]
        rows.sort_by! { |row| row[1].to_f }
      ensure
        process&.stop
      end
    end
  end
end
