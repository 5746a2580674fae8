# frozen_string_literal: true

require "trunkline/lab/peers/trunkline"

module Bench
  module Peers
    # The engine in Ruby.
    class TrunklineOnJRuby < Trunkline::Lab::Peers::Trunkline
      label "Trunkline, JRuby"
    end
  end
end
