# frozen_string_literal: true

require_relative "typhoeus"
require "trunkline/lab/peers/typhoeus_1_4"

module Bench
  module Peers
    # The newest pair of Typhoeus and ethon is several times slower than this older one; the bar is for the faster.
    class Typhoeus14 < Typhoeus
      label ::Trunkline::Lab::Peers::Typhoeus14.label
      gems ::Trunkline::Lab::Peers::Typhoeus14.gems
    end
  end
end
