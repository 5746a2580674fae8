# frozen_string_literal: true

require "trunkline/lab/origins/puma"
require_relative "lab"

module Bench
  # A Rack application under Puma, on the origin's core, that parses the JSON it is sent and answers with the same.
  module Service
    THREADS = 16

    # @yield [base] its URL
    def self.serve(_suite)
      Lab::Origins::Puma.open(app: "echo", threads: THREADS) { |service| yield service.plain }
    rescue Lab::Origins::Missing => error
      raise Tools::Failed, error.message
    end
  end
end
