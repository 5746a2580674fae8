# frozen_string_literal: true

require_relative "typhoeus"

module Trunkline
  module Lab
    module Peers
      # Older versions of Typhoeus and ethon that are still in wide use, and several times as fast as the newest ones.
      class Typhoeus14 < Typhoeus
        label "Typhoeus 1.4.1"
        gems "typhoeus" => "1.4.1", "ethon" => "0.16.0"
      end
    end
  end
end
