# frozen_string_literal: true

require_relative "bundle"
require_relative "limits"
require_relative "peer_process"

module Trunkline
  module Lab
    # Clients ready to be measured, each in a process of its own. A client that cannot be installed, or that gives
    # another answer than it should, is not measured but named with the reason.
    class Competitors
      # One client.
      Member = Struct.new(:peer, :process) do
        def label = peer.label
        def ours? = peer.ours?
        def makes?(_kind) = true
        def ask(...) = process.ask(...)
        def stop = process&.stop
      end

      attr_reader :members

      # @param checks [Array<Hash>] call:, kind: (one of Calls::KINDS), and digest: of the body that each must give, or
      #   nil
      # @param limits [Array<Class>] programs in C to be measured as well
      # @param options [Hash] those of Peer.new
      # @yield [competitors]
      # @raise [Stop] when there is no client to measure
      def self.open(peers, missing:, clients:, screen:, checks: [], limits: [], **options)
        competitors = new(missing, clients)
        screen.busy("starting #{peers.map(&:label).join(", ")}")
        peers.each { |peer| competitors.add(peer, **options) }
        competitors.verify_all(checks)
        competitors.must_be_some

        limits.each { |limit| competitors.add_limit(limit, checks, **options.slice(:base, :ca_file, :keep)) }
        yield competitors
      ensure
        competitors&.close
      end

      # @param missing [Hash] label => reason, added to
      # @param clients [Hash] label => gems and versions, added to
      def initialize(missing, clients)
        @missing = missing
        @clients = clients
        @members = []
      end

      # It is not waited for: all load side by side.
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
      def must_be_some
        raise Stop, "nothing to measure: #{@missing.map { |told| told.join(": ") }.join("; ")}" if peers.empty?
      end

      # The clients that are there, without the limits.
      def peers = @members.grep(Member).map(&:peer)

      # Leaves out a member that failed.
      def dismiss(member, reason)
        @missing[member.label] = reason
        @members.delete(member)
        member.stop
      end

      # Each member's turn; one that fails is left out.
      def each(order = @members.dup)
        order.each do |member|
          yield member if @members.include?(member)
        rescue PeerProcess::Failed, Limits::Failed => error
          dismiss(member, error.message)
        end
      end

      def close = @members.each(&:stop)

      private

      def verify(member, digest:, **told)
        seen = member.ask(:probe, **told)
        raise PeerProcess::Failed, "it was answered #{seen[:status]}" if seen[:status] >= 400
        return if seen[:digest].nil? || digest.nil? || seen[:digest] == digest

        raise PeerProcess::Failed, "its answer (status #{seen[:status]}, #{seen[:bytes]} bytes) is not the others'"
      end

      def note_versions(member)
        found = member.peer.versions(member.process) and @clients[member.label] = found
      end
    end
  end
end
