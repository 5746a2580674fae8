# frozen_string_literal: true

module Bench
  module Peers
    class Trunkline < Peer
      ROOT = File.expand_path("../..", __dir__)

      label "Trunkline"

      class << self
        # It runs from the checkout, in the checkout's own bundle.
        def gemfile = File.join(ROOT, "Gemfile")

        def missing
          super || ("not compiled: run bin/setup" if Dir[File.join(ROOT, "trunkline/lib/trunkline/trunkline.*")].empty?)
        end
      end

      # A streamed body: what a 200 MB download is for.
      def download(path)
        size = 0
        (@client ||= open).get(path) { |chunk| size += chunk.bytesize }
        size
      end

      # The least that a user does with an answer: status, one header, body.
      def examine(path)
        response = (@client ||= open).get(path)
        response.status
        response["content-type"]
        response.body
      end

      private

      def open
        require "trunkline"
        options = @ca_file ? { ca_file: @ca_file } : {}
        ::Trunkline.new(@base, timeout: @timeout, **options)
      end

      def fetch(client, path)
        response = client.get(path)
        body_of(response.status, response.body)
      end

      def close(client) = client.close
    end
  end
end
