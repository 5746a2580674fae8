# frozen_string_literal: true

require_relative "faraday"

module Bench
  module Peers
    class FaradayFace < Faraday
      label "Faraday with :trunkline"
      gems "faraday" => "~> 2.14"
      ours "trunkline"

      # @return [Array<String>] the bodies
      def parallel(path, count)
        connection = @client ||= open
        answers = []
        connection.in_parallel { count.times { answers << connection.get(path) } }
        answers.map { |answer| body_of(answer.status, answer.body) }
      end

      private

      def adapter = :trunkline

      def load_adapter = require("trunkline/faraday")
    end
  end
end
