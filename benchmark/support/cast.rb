# frozen_string_literal: true

require "digest"
require_relative "origin"
require_relative "peer"
require_relative "peer_process"
require_relative "tools"

module Bench
  # Clients ready to be timed on one origin, each alive in a process of its own. Whoever cannot be had, or answers with
  # something else than the others, is not timed but named with the reason.
  class Cast
    Member = Struct.new(:label, :timer) do
      def sample(seconds) = timer.call(seconds)
    end

    attr_reader :members

    # @param scheme [Symbol] :plain or :tls
    # @param path [String] what is fetched
    # @param at_once [Integer, nil] in flight; nil: one call after the other
    def self.open(suite, scheme, path: Origin::SMALL, at_once: nil)
      base = suite.origin.public_send(scheme)
      trust = suite.origin.ca_file if base.start_with?("https")
      cast = new(base, ca_file: trust, path: path, at_once: at_once, missing: suite.missing, versions: suite.versions)
      yield cast
    ensure
      cast&.close
    end

    # @param missing [Hash] label => reason, added to
    # @param versions [Hash] label => gems and versions, added to
    def initialize(base, ca_file:, path:, at_once:, missing:, versions:)
      @base = base
      @ca_file = ca_file
      @path = path
      @at_once = at_once
      @missing = missing
      @versions = versions
      @processes = []
      @members = []
    end

    # The one that all others are timed beside.
    # @raise [PeerProcess::Failed] when it cannot be had
    def add_first(peer, **options)
      add(peer, **options)
      raise PeerProcess::Failed, @missing[peer.label] if members.empty?
    end

    # @param options [Hash] those of Peer.new
    def add(peer, label: peer.label, **options)
      return @missing[label] = peer.missing if peer.missing

      process = PeerProcess.new(peer, base: @base, ca_file: @ca_file, **options)
      @processes << process
      check(process.ask(:body_digest, path: @path, at_once: @at_once))
      note_versions(peer, process)
      @members << Member.new(label, ->(seconds) { time(process, seconds) })
    rescue PeerProcess::Failed, Bundle::Failed => error
      @missing[label] = error.message
    end

    # @param options [Hash] those of Limits::BareCurl.new
    def add_bare_curl(**options) = add_program("bare libcurl program", Limits::BareCurl, **options)
    def add_wrk = add_program("wrk", Limits::Wrk)

    # A member that fails while it is timed leaves the cast.
    def dismiss(member, reason)
      @missing[member.label] = reason
      @members.delete(member)
    end

    def close = @processes.each(&:stop)

    private

    def add_program(label, kind, **options)
      program = kind.new(base: @base, ca_file: @ca_file, **options)
      digest = program.probe(call: { path: @path })[:digest]
      check(digest) if digest
      @members << Member.new(label, ->(seconds) { program.for_seconds(@path, seconds, at_once: @at_once) })
    rescue Limits::Failed, PeerProcess::Failed => error
      @missing[label] = error.message
    end

    def time(process, seconds)
      return process.ask(:for_seconds, path: @path, seconds: seconds) unless @at_once

      process.ask(:lists, path: @path, at_once: @at_once, seconds: seconds)
    end

    def note_versions(peer, process)
      found = process.ask(:versions, names: peer.gems.keys)
      @versions[peer.label] = found.map { |name, version| "#{name} #{version}" }.join(" with ") if found.any?
    end

    def check(digest)
      return if digest == Digest::SHA256.hexdigest(Origin.body(@path))

      raise PeerProcess::Failed, "its body is not what the origin sent"
    end
  end
end
