# frozen_string_literal: true

require "trunkline/lab/peers/trunkline"

module Bench
  module Peers
    # Trunkline's engine in Ruby. Connections are kept from one sample to the next, as the other clients keep theirs.
    class TrunklineOnJRuby < Trunkline::Lab::Peers::Trunkline
      label "Trunkline, JRuby"

      MOST = 200
      SECONDS = 60 # between two samples of a client, at most
      private_constant :MOST, :SECONDS

      private

      def options = super.merge(max_idle: MOST, idle_timeout: SECONDS)
    end
  end
end
