# frozen_string_literal: true

require_relative "faraday"

module Bench
  module Peers
    class FaradayFacade < Faraday
      label "Faraday with :trunkline"
      gems "faraday" => "~> 2.14"
      local_gems "trunkline"

      # @return [Array<String>] the bodies
      def parallel(paths)
        connection = @client ||= open
        answers = []
        connection.in_parallel { answers = paths.map { |path| connection.get(path) } }
        answers.map { |answer| body_of(answer.status, answer.body) }
      end

      private

      def adapter = :trunkline

      def load_adapter = require("trunkline/faraday")
    end
  end
end
