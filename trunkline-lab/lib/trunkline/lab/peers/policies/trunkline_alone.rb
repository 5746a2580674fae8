# frozen_string_literal: true

require_relative "../trunkline"

module Trunkline
  module Lab
    module Peers
      # Trunkline without a policy, in threads that each make one call after another, as the other clients do.
      class TrunklineAlone < Trunkline
        label "Trunkline"

        def many(...) = Peer.instance_method(:many).bind_call(self, ...)
      end
    end
  end
end
