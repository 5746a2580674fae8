# frozen_string_literal: true

require_relative "origin"
require_relative "peer"
require_relative "peer_process"
require_relative "tools"
require_relative "work"

module Bench
  # Clients ready to be timed at the same work, each in a separate process. A client that cannot be installed, or that
  # receives a response different from the others', is not timed but reported with the reason.
  class Competitors
    # A client or program, and the callable that times it.
    Member = Struct.new(:label, :timer) do
      def sample(seconds) = timer.call(seconds)
    end

    attr_reader :members

    # @param work [Work]
    # @param base [String] "http://127.0.0.1:8080"
    # @yield [competitors] their processes are stopped afterwards in any case
    def self.open(suite, work, base: suite.origin.plain)
      competitors = new(work, base, ca_file: (suite.origin.ca_file if base.start_with?("https")),
                                    missing: suite.missing, versions: suite.versions)
      yield competitors
    ensure
      competitors&.close
    end

    # @param missing [Hash] label => reason; entries are added to it
    # @param versions [Hash] label => gems and versions; entries are added to it
    def initialize(work, base, ca_file:, missing:, versions:)
      @work = work
      @base = base
      @ca_file = ca_file
      @missing = missing
      @versions = versions
      @expected = work.expected
      @processes = []
      @members = []
    end

    # Adds the client that all others are compared with.
    # @raise [PeerProcess::Failed] when it is not available
    def add_first(peer, **options)
      add(peer, **options)
      raise PeerProcess::Failed, @missing[peer.label] if members.empty?
    end

    # @param options [Hash] options of Peer.new
    def add(peer, label: peer.label, **options)
      return @missing[label] = peer.missing if peer.missing

      process = PeerProcess.new(peer, base: @base, ca_file: @ca_file, **options)
      @processes << process
      check(@work.digest(process))
      note_versions(peer, process)
      @members << Member.new(label, ->(seconds) { @work.time(process, seconds) })
    rescue PeerProcess::Failed, Bundle::Failed => error
      @missing[label] = error.message
    end

    # @param options [Hash] options of Limits::BareCurl.new
    def add_bare_curl(**options) = add_program("bare libcurl program", Limits::BareCurl, **options)
    def add_wrk = add_program("wrk", Limits::Wrk)

    # Removes a member that failed while it was timed.
    def dismiss(member, reason)
      @missing[member.label] = reason
      @members.delete(member)
    end

    def close = @processes.each(&:stop)

    private

    def add_program(label, kind, **options)
      program = kind.new(base: @base, ca_file: @ca_file, **options)
      digest = @work.digest_by_program(program)
      check(digest) if digest
      @members << Member.new(label, ->(seconds) { @work.time_program(program, seconds) })
    rescue Limits::Failed, PeerProcess::Failed => error
      @missing[label] = error.message
    end

    def note_versions(peer, process)
      found = process.ask(:versions, names: peer.gems.keys)
      @versions[peer.label] = found.map { |name, version| "#{name} #{version}" }.join(" with ") if found.any?
    end

    def check(digest)
      @expected ||= digest
      raise PeerProcess::Failed, "its response differs from that to the others" unless digest == @expected
    end
  end
end
