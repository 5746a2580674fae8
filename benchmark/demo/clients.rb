# frozen_string_literal: true

module Bench
  module Demo
    # The clients to compare: installed on demand, and named with the reason when that fails.
    class Clients
      attr_reader :missing

      def initialize(screen)
        @screen = screen
        @missing = {}
      end

      def each
        installed.each { |peer| yield peer unless missing.key?(peer.label) }
      end

      def drop(peer, reason) = missing[peer.label] = reason

      private

      # Ours goes first, so that it is there even if somebody loses patience.
      def installed
        @installed ||= Peer.load_all.partition { |peer| peer == Peers::Trunkline }.flatten.each { |peer| install(peer) }
      end

      def install(peer)
        return drop(peer, peer.missing) if peer.missing

        @screen.busy_with("installing #{peer.label} ...")
        Bundle.for(peer).install
      rescue Bundle::Failed => error
        drop(peer, error.message)
      end
    end
  end
end
