# frozen_string_literal: true

require_relative "lab"
require_relative "tasks"

module Bench
  # A peer in a process of its own, that is told the benchmarks' tasks.
  class PeerProcess < Trunkline::Lab::PeerProcess
    # @param options [Hash] those of Peer.new, and pinned:
    def initialize(peer, **options)
      super(Tasks, peer.file, gems: peer.gems, folder: peer.id, ours: peer.ours, **options)
    end
  end
end
