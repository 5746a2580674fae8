# frozen_string_literal: true

require_relative "../typhoeus"

module Bench
  module Peers
    class TyphoeusFacade < Typhoeus
      label "trunkline/typhoeus"
      gems({})
      local_gems "trunkline"

      private

      def load_client = require("trunkline/typhoeus")
    end
  end
end
