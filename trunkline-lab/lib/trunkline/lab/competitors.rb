# frozen_string_literal: true

require_relative "bundle"
require_relative "limits"
require_relative "peer_process"

module Trunkline
  module Lab
    # Clients to measure, each in a separate process. A client that cannot be installed, or that returns a wrong
    # response, is not measured but reported with the reason.
    class Competitors
      # One client.
      Member = Struct.new(:peer, :process) do
        def label = peer.label
        def trunkline? = peer.trunkline?
        def makes?(_kind) = true
        def ask(...) = process.ask(...)
        def stop = process&.stop
      end

      attr_reader :members

      # @param checks [Array<Hash>] call:, kind: (one of Calls::KINDS), and digest: of the body that each client must
      #   return, or nil
      # @param limits [Array<Class>] programs in C to measure as well
      # @param options [Hash] options of Peer.new
      # @yield [competitors]
      # @raise [Stop] when there is no client to measure
      def self.open(peers, missing:, clients:, screen:, checks: [], limits: [], **options)
        competitors = new(missing, clients)
        screen.busy("starting #{peers.map(&:label).join(", ")}")
        peers.each { |peer| competitors.add(peer, **options) }
        competitors.verify_all(checks)
        competitors.raise_if_none

        limits.each { |limit| competitors.add_limit(limit, checks, **options.slice(:base, :ca_file, :keep)) }
        yield competitors
      ensure
        competitors&.close
      end

      # @param missing [Hash] label => reason; receives the clients that cannot be measured
      # @param clients [Hash] label => gems and versions; receives the clients that are measured
      def initialize(missing, clients)
        @missing = missing
        @clients = clients
        @members = []
      end

      # Starts a client without waiting for it, so that all clients load in parallel.
      def add(peer, **options)
        return @missing[peer.label] = peer.missing if peer.missing

        @members << Member.new(peer, PeerProcess.of(peer, **options))
      rescue Bundle::Failed => error
        @missing[peer.label] = error.message
      end

      def verify_all(checks)
        each do |member|
          checks.each { |check| verify(member, **check) }
          note_versions(member)
        end
      end

      def add_limit(program, checks, **options)
        member = Limits::Member.new(program.new(**options))
        checks.each { |check| verify(member, **check) if member.makes?(check.fetch(:kind)) }
        @members << member
      rescue Limits::Failed, PeerProcess::Failed => error
        @missing["#{Limits::PREFIX}#{program.label}"] = error.message
      end

      # @raise [Stop] when there is no client to measure
      def raise_if_none
        return if peers.any?

        raise Stop, "nothing to measure: #{@missing.map { |label, reason| "#{label}: #{reason}" }.join("; ")}"
      end

      # The clients being measured, without the limits.
      def peers = @members.grep(Member).map(&:peer)

      # Removes a member that failed.
      def dismiss(member, reason)
        @missing[member.label] = reason
        @members.delete(member)
        member.stop
      end

      # Yields each member; one that fails is removed.
      def each(order = @members.dup)
        order.each do |member|
          yield member if @members.include?(member)
        rescue PeerProcess::Failed, Limits::Failed => error
          dismiss(member, error.message)
        end
      end

      def close = @members.each(&:stop)

      private

      def verify(member, digest:, **call_arguments)
        seen = member.ask(:probe, **call_arguments)
        raise PeerProcess::Failed, "its first call had the status #{seen[:status]}" if seen[:status] >= 400
        return if seen[:digest].nil? || digest.nil? || seen[:digest] == digest

        raise PeerProcess::Failed, "its answer (status #{seen[:status]}, #{seen[:bytes]} bytes) is not the others'"
      end

      def note_versions(member)
        found = member.peer.versions(member.process) and @clients[member.label] = found
      end
    end
  end
end
