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

    def self.open(...)
      cast = new(...)
      yield cast
    ensure
      cast&.close
    end

    # @param missing [Hash] label => reason, added to
    # @param versions [Hash] label => gems and versions, added to
    def initialize(base, ca_file:, missing:, versions:)
      @base = base
      @ca_file = ca_file
      @missing = missing
      @versions = versions
      @processes = []
      @members = []
    end

    # @param options [Hash] those of Peer.new
    def add(peer, label: peer.label, **options)
      return @missing[label] = peer.missing if peer.missing

      process = PeerProcess.new(peer, base: @base, ca_file: @ca_file, **options)
      @processes << process
      check(process.ask(:body_digest, path: Origin::SMALL))
      note_versions(peer, process)
      @members << Member.new(label, ->(seconds) { process.ask(:for_seconds, path: Origin::SMALL, seconds: seconds) })
    rescue PeerProcess::Failed, Bundle::Failed => error
      @missing[label] = error.message
    end

    def add_bare_curl
      curl = BareCurl.new(ca_file: @ca_file)
      check(curl.body_digest(url))
      @members << Member.new(curl.label, ->(seconds) { curl.for_seconds(url, seconds) })
    rescue Tools::Failed => error
      @missing["bare libcurl program"] = error.message
    end

    def add_wrk
      return @missing["wrk"] = Wrk.missing if Wrk.missing

      @members << Member.new("wrk", ->(seconds) { Wrk.new.for_seconds(url, seconds) })
    end

    # A member that fails while it is timed leaves the cast.
    def dismiss(member, reason)
      @missing[member.label] = reason
      @members.delete(member)
    end

    def close = @processes.each(&:stop)

    private

    def note_versions(peer, process)
      found = process.ask(:versions, names: peer.gems.keys)
      @versions[peer.label] = found.map { |name, version| "#{name} #{version}" }.join(" with ") if found.any?
    end

    def url = "#{@base}#{Origin::SMALL}"

    def check(digest)
      return if digest == Digest::SHA256.hexdigest(Origin::SMALL_BODY)

      raise PeerProcess::Failed, "its body is not what the origin sent"
    end
  end
end
