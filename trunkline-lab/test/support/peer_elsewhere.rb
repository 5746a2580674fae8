# frozen_string_literal: true

require "trunkline/lab/peer"

module Trunkline
  module Lab
    # Answers with what its process was told by a variable.
    class PeerElsewhere < Peer
      label "elsewhere"

      private

      def open = ENV.fetch("PEER_ELSEWHERE", "here")
      def exchange(told, _call) = [200, told]
    end
  end
end
