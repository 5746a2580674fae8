# frozen_string_literal: true

require_relative "typhoeus"

module Bench
  module Peers
    # The newest pair of Typhoeus and ethon is several times slower than this older one; the bar is the faster.
    class Typhoeus14 < Typhoeus
      label "Typhoeus 1.4.1"
      gems "typhoeus" => "1.4.1", "ethon" => "0.16.0"
    end
  end
end
