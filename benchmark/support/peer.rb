# frozen_string_literal: true

module Bench
  # One HTTP client under measurement: how it is installed, opened and called. Each peer is one file in peers/.
  # The class is read by the parent for its label and gems, and used by a worker process that has those gems.
  class Peer
    class << self
      def all = @all ||= []

      # @param folder [String] below peers/
      def load_all(folder = ".")
        Dir[File.expand_path("../peers/#{folder}/*.rb", __dir__)].each { |file| require file }
        all
      end

      def named(id) = all.find { |peer| peer.id == id } || raise(ArgumentError, "no peer named #{id.inspect}")

      def inherited(subclass)
        super
        Peer.all << subclass
      end

      def id = name.split("::").last

      def label(text = nil) = text ? @label = text : @label

      # Name => requirement, as in a Gemfile. Nothing: the client comes with Ruby.
      def gems(requirements = nil) = requirements ? @gems = requirements : @gems.to_h

      # The Ruby that the peer needs, for example ">= 3.3".
      def ruby(requirement = nil) = requirement ? @ruby = requirement : @ruby

      # Why the peer cannot be measured on this machine, or nil.
      def missing
        return if ruby.nil? || Gem::Requirement.new(ruby).satisfied_by?(Gem::Version.new(RUBY_VERSION))

        "needs Ruby #{ruby}, this is #{RUBY_VERSION}"
      end
    end

    # @param base [String] "https://127.0.0.1:4433"
    # @param ca_file [String, nil] the authorities to trust
    # @param timeout [Numeric] seconds, set the way that the client's users set it
    # @param keep [Boolean] one client for all calls, or a new client for each
    def initialize(base:, ca_file: nil, timeout: 10, keep: true)
      @base = base
      @ca_file = ca_file
      @timeout = timeout
      @keep = keep
    end

    def uri = @uri ||= URI(@base)

    # Loads the client's code, so that it is no part of what is timed.
    def prepare = @prepare ||= open

    # @return [String] the body of a 200; anything else is an error of the benchmark
    def call(path)
      return fetch(@client ||= open, path) if @keep

      client = open
      begin
        fetch(client, path)
      ensure
        close(client)
      end
    end

    # A peer that can have many in flight also has
    #   list(path, count, at_once) { |body| ... }
    # which fetches the path so many times, with as many in flight as it may, and yields each body; and raises when one
    # is not had. Its connections are kept from list to list.

    # Whatever must surround a series of calls: an event loop, for clients that live in one.
    def session = yield

    def finish
      close(@client) if @client
      @client = nil
    end

    private

    def body_of(status, body)
      raise "status #{status}" unless status == 200

      body
    end

    def close(_client) = nil
  end

  module Peers
  end
end
