# frozen_string_literal: true

require "trunkline/lab/peers/trunkline"

module Bench
  module Peers
    class Trunkline < ::Trunkline::Lab::Peers::Trunkline
      # As many connections as a list may have in flight are kept to the next.
      MAX_IDLE = 1024

      # @param reuse_bodies [Boolean] a list's bodies are for its block alone
      def initialize(reuse_bodies: false, **options)
        super(**options)
        @reuse_bodies = reuse_bodies
      end

      def list(path, count, at_once)
        client = @client ||= open
        client.each(Array.new(count, path), concurrency: at_once, reuse_bodies: @reuse_bodies) do |_path, answer|
          raise answer if answer.is_a?(Exception)

          raise "status #{answer.status}" unless answer.status == 200

          yield answer.body
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

      def options = super.merge(max_idle: MAX_IDLE)

      def exchange(client, call)
        response = client.get(call.path)
        [response.status, response.body]
      end
    end
  end
end
