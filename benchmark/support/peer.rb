# frozen_string_literal: true

require "trunkline/lab/peer"

module Bench
  # A client that the lab does not know, or that is called otherwise here: one file in peers/. It says how it is opened,
  # and how it fetches a path. One that can have many in flight also has
  #   list(paths, at_once) { |body| ... }
  # which fetches each of the paths, with as many in flight as it may, and yields each body; and raises when one is not
  # had. Its connections are kept from list to list.
  class Peer < Trunkline::Lab::Peer
    Call = Trunkline::Lab::Peer::Call

    class << self
      # The lab's, and those of a folder below peers/, which stand for the lab's of the same name.
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

  # One class for each client.
  module Peers
  end
end
