# frozen_string_literal: true

require_relative "typhoeus"

module Trunkline
  module Lab
    module Peers
      # An older Typhoeus and ethon that many still use, and that are several times as fast as the newest.
      class Typhoeus14 < Typhoeus
        label "Typhoeus 1.4.1"
        gems "typhoeus" => "1.4.1", "ethon" => "0.16.0"
      end
    end
  end
end
