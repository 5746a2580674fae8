# frozen_string_literal: true

require "trunkline/lab/origins/puma"
require_relative "lab"

module Bench
  # A Rack application under Puma, on the origin's core, that parses the JSON of a POST and responds with the same
  # JSON, and responds to a GET with 370 bytes of JSON.
  module Service
    THREADS = 16

    # @yield [base] the service's URL
    def self.serve(_suite)
      Lab::Origins::Puma.open(app: "echo", threads: THREADS) { |service| yield service.plain }
    rescue Lab::Origins::Missing => error
      raise Tools::Failed, error.message
    end
  end
end
