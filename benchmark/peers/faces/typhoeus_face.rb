# frozen_string_literal: true

require_relative "../trunkline"
require_relative "../typhoeus"

module Bench
  module Peers
    class TyphoeusFace < Typhoeus
      label "trunkline/typhoeus"

      private

      def load_typhoeus = Peers::Trunkline.load("trunkline/typhoeus")
    end
  end
end
