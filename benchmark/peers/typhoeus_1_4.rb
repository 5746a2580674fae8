# frozen_string_literal: true

require_relative "typhoeus"
require "trunkline/lab/peers/typhoeus_1_4"

module Bench
  module Peers
    # The newest versions of Typhoeus and ethon are several times slower than these older ones; the bar applies to the
    # faster pair.
    class Typhoeus14 < Typhoeus
      label ::Trunkline::Lab::Peers::Typhoeus14.label
      gems ::Trunkline::Lab::Peers::Typhoeus14.gems
    end
  end
end
