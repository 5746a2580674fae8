# frozen_string_literal: true

require_relative "../trunkline"

module Trunkline
  module Lab
    module Peers
      # Without a policy, in threads: one call after the other in each, as the other clients make them.
      class TrunklineAlone < Trunkline
        label "Trunkline"

        def many(...) = Peer.instance_method(:many).bind_call(self, ...)
      end
    end
  end
end
