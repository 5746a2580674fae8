# frozen_string_literal: true

require_relative "lab"
require_relative "tasks"

module Bench
  # A peer in a separate process, which runs the benchmarks' tasks.
  class PeerProcess < Trunkline::Lab::PeerProcess
    # @param options [Hash] options of Peer.new, and core:
    def initialize(peer, **options)
      super(Tasks, peer.file, gems: peer.gems, folder: peer.id, local_gems: peer.local_gems, **options)
    end
  end
end
