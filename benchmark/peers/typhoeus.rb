# frozen_string_literal: true

require "trunkline/lab/peers/typhoeus"

module Bench
  module Peers
    class Typhoeus < ::Trunkline::Lab::Peers::Typhoeus
      label "Typhoeus, newest"

      # The handles' connections live in the hydra.
      def list(paths, at_once)
        options = @client ||= open
        hydra = (@hydras ||= {})[at_once] ||= ::Typhoeus::Hydra.new(max_concurrency: at_once)
        paths.each do |path|
          request = ::Typhoeus::Request.new("#{@base}#{path}", options)
          request.on_complete { |response| yield body_of(response) }
          hydra.queue(request)
        end
        hydra.run
      end

      private

      def body_of(response)
        raise "#{response.return_code}, status #{response.code}" unless response.code == 200

        response.body
      end
    end
  end
end
