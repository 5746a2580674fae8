# frozen_string_literal: true

require "trunkline/lab/peer"

module Trunkline
  module Lab
    # Returns the value of an environment variable of its worker process as the response.
    class PeerElsewhere < Peer
      label "elsewhere"

      private

      def open = ENV.fetch("PEER_ELSEWHERE", "here")
      def exchange(value, _call) = [200, value]
    end
  end
end
