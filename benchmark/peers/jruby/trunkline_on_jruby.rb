# frozen_string_literal: true

require "trunkline/lab/peers/trunkline"

module Bench
  module Peers
    # The engine in Ruby. As many connections as may be in flight are kept from one sample to the
    # next, as with the others.
    class TrunklineOnJRuby < Trunkline::Lab::Peers::Trunkline
      label "Trunkline, JRuby"

      MOST = 200
      SECONDS = 60
      private_constant :MOST, :SECONDS

      private

      def options = super.merge(max_idle: MOST, idle_timeout: SECONDS)
    end
  end
end
