# frozen_string_literal: true

require_relative "bundle"
require_relative "peer_process"

module Trunkline
  module Lab
    # Clients ready to be measured, each alive in a process of its own. Whoever cannot be had, or gives another answer
    # than it should, is not measured but named with the reason.
    class Cast
      # One client.
      Member = Struct.new(:peer, :process) do
        def label = peer.label
        def ask(...) = process.ask(...)
      end

      attr_reader :members

      # @param check [Hash, nil] call: and digest: of the body that each must give
      # @param options [Hash] those of Peer.new
      # @yield [cast]
      def self.open(peers, missing:, clients:, screen:, check: nil, **options)
        cast = new(missing, clients)
        peers.each do |peer|
          screen.busy("starting #{peer.label}")
          cast.add(peer, check, **options)
        end
        yield cast
      ensure
        cast&.close
      end

      # @param missing [Hash] label => reason, added to
      # @param clients [Hash] label => gems and versions, added to
      def initialize(missing, clients)
        @missing = missing
        @clients = clients
        @members = []
      end

      def add(peer, check, **options)
        return @missing[peer.label] = peer.missing if peer.missing

        process = PeerProcess.new("http", peer.file, gems: peer.gems, folder: peer.id,
                                                     ours: peer.ours? ? ["trunkline"] : [], **options)
        member = Member.new(peer, process)
        @members << member
        verify(member, check) if check
        note_versions(member)
      rescue PeerProcess::Failed, Bundle::Failed => error
        dismiss(member || Member.new(peer, nil), error.message)
      end

      # A member that fails leaves the cast.
      def dismiss(member, reason)
        @missing[member.label] = reason
        @members.delete(member)
        member.process&.stop
      end

      # Each member's turn; whoever fails leaves.
      def each(order = @members.dup)
        order.each do |member|
          yield member if @members.include?(member)
        rescue PeerProcess::Failed => error
          dismiss(member, error.message)
        end
      end

      def close = @members.each { |member| member.process.stop }

      private

      def verify(member, check)
        seen = member.ask(:probe, call: check[:call])
        return if seen[:status] < 400 && (check[:digest].nil? || seen[:digest] == check[:digest])

        raise PeerProcess::Failed, "its answer (status #{seen[:status]}, #{seen[:bytes]} bytes) is not the others'"
      end

      def note_versions(member)
        return @clients[member.label] = "Trunkline #{Trunkline::VERSION}" if member.peer.ours?

        found = member.ask(:versions, names: member.peer.gems.keys)
        @clients[member.label] = found.map { |name, version| "#{name} #{version}" }.join(" with ") if found.any?
      end
    end
  end
end
