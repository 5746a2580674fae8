# frozen_string_literal: true

module Bench
  module Peers
    class Trunkline < Peer
      ROOT = File.expand_path("../..", __dir__)

      # As many connections as a list may have in flight are kept to the next.
      MAX_IDLE = 1024

      label "Trunkline"

      class << self
        # It runs from the checkout, in the checkout's own bundle.
        def gemfile = File.join(ROOT, "Gemfile")

        # Into the process of a peer that has other gems.
        def load(feature)
          $LOAD_PATH.unshift(File.join(ROOT, "trunkline/lib"))
          require feature
        end

        def missing
          super || ("not compiled: run bin/setup" if Dir[File.join(ROOT, "trunkline/lib/trunkline/trunkline.*")].empty?)
        end
      end

      def list(path, count, at_once)
        client = @client ||= open
        client.each(Array.new(count, path), concurrency: at_once) do |_path, answer|
          raise answer if answer.is_a?(Exception)

          yield body_of(answer.status, answer.body)
        end
      end

      # Queues requests, yields, then runs them. Each has a URL and a block of its own.
      def queued(path, count)
        done = 0
        batch = (@client ||= open).batch(concurrency: 50)
        count.times { |number| batch.get("#{path}?#{number}") { |answer| done += 1 if answer.status == 200 } }
        yield
        batch.run
        raise "#{done} of #{count} answers" unless done == count
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
        ::Trunkline.new(@base, timeout: @timeout, max_idle: MAX_IDLE, **options)
      end

      def fetch(client, path)
        response = client.get(path)
        body_of(response.status, response.body)
      end

      def close(client) = client.close
    end
  end
end
