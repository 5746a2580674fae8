# frozen_string_literal: true

require "trunkline/lab/peer"

module Bench
  # A client that the lab does not have, or that the benchmarks call differently: one file in peers/. A subclass
  # implements how the client is opened, and how it fetches a path. A client that can make concurrent requests also
  # implements
  #   list(paths, concurrency) { |body| ... }
  # which fetches each of the paths, with at most `concurrency` in flight, and yields each body; it raises when a
  # request fails. Its connections are kept from list to list.
  class Peer < Trunkline::Lab::Peer
    Call = Trunkline::Lab::Peer::Call

    class << self
      # Loads the lab's peers, and those of a folder below peers/, which replace the lab's peers of the same name.
      # @return [Array<Class>]
      def load_all(folder = ".")
        Trunkline::Lab::Peer.all
        Dir[File.expand_path("../peers/#{folder}/*.rb", __dir__)].each { |file| require file }
        all
      end

      def all
        own, labs = Trunkline::Lab::Peer.known.select(&:label).partition { |peer| peer.name.start_with?("Bench") }
        own + labs.reject { |peer| own.any? { |one| one.id == peer.id } }
      end

      def named(id) = all.find { |peer| peer.id == id } || raise(ArgumentError, "no peer named #{id.inspect}")
    end

    private

    def exchange(client, call) = [200, fetch(client, call.path)]

    def body_of(status, body)
      raise "status #{status}" unless status == 200

      body
    end
  end

  # Holds one class for each client.
  module Peers
  end
end
