# frozen_string_literal: true

require "trunkline/lab/peers/typhoeus"

module Bench
  module Peers
    class Typhoeus < ::Trunkline::Lab::Peers::Typhoeus
      label "Typhoeus, newest"

      # The connections of the handles are kept by the hydra.
      def list(paths, concurrency)
        options = @client ||= open
        hydra = (@hydras ||= {})[concurrency] ||= ::Typhoeus::Hydra.new(max_concurrency: concurrency)
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
