# frozen_string_literal: true

require "trunkline/lab/peers/trunkline"
require_relative "../support/orders"

module Bench
  module Peers
    class Trunkline < ::Trunkline::Lab::Peers::Trunkline
      # A list may have this many requests in flight; as many idle connections are kept for the next list.
      MAX_IDLE = 1024

      # @param reuse_bodies [Boolean] whether a list's bodies are valid only within its block
      # @param busy_poll [Boolean] whether a single call polls for its response before it sleeps
      # @param by [String] the method that makes lists: "each", or "batch" with a block for each request
      def initialize(reuse_bodies: false, busy_poll: false, by: "each", **options)
        super(**options)
        @reuse_bodies = reuse_bodies
        @busy_poll = busy_poll
        @by = by
      end

      def list(paths, concurrency, &block)
        client = @client ||= open
        return list_by_batch(client, paths, concurrency, &block) if @by == "batch"

        client.each(paths, concurrency: concurrency, reuse_bodies: @reuse_bodies) do |_path, answer|
          yield body_of(answer)
        end
      end

      # Queues requests with a block for each, yields, then runs them.
      def queued(paths)
        done = 0
        batch = (@client ||= open).batch(concurrency: 50)
        paths.each { |path| batch.get(path) { |answer| done += 1 if answer.status == 200 } }
        yield
        batch.run
        raise "#{done} of #{paths.size} answers" unless done == paths.size
      end

      # Streams the body, as a 200 MB download would be read.
      def download(path)
        size = 0
        (@client ||= open).get(path) { |chunk| size += chunk.bytesize }
        size
      end

      # @param bearer [String, nil] the client's token
      # @yield [read] a proc that makes a GET by a client with a cache, and reads the response
      def caching(bearer)
        client = ::Trunkline.new(@base, timeout: @timeout, cache: true, **{ bearer: bearer }.compact)
        yield ->(path) { client.get(path).tap { |answer| answer.status && answer.body } }
      ensure
        client&.close
      end

      # Reads the least that a user reads of a response: status, one header field, body.
      # @param concurrency [Integer, nil] number of requests in flight in a batch; nil: one call after the other
      def read_all(paths, concurrency)
        client = @client ||= open
        return paths.each { |path| read(client.get(path)) } unless concurrency

        reader = method(:read).to_proc # one for all calls: the caller's blocks must not be counted
        client.batch(concurrency: concurrency) { |batch| paths.each { |path| batch.get(path, &reader) } }
      end

      # (see Orders)
      def order(path, number)
        headers = Orders.headers(number)
        answer = (@client ||= open).post(path, json: Orders.content(number), params: Orders.params(number),
                                               headers: headers)
        content(answer, headers)
      end

      # (see Orders)
      def orders(path, numbers, concurrency)
        (@client ||= open).batch(concurrency: concurrency) do |batch|
          numbers.each do |number|
            headers = Orders.headers(number)
            call = { json: Orders.content(number), params: Orders.params(number), headers: headers }
            batch.post(path, **call) { |answer| yield content(answer, headers) }
          end
        end
      end

      private

      def options = super.merge(max_idle: MAX_IDLE, busy_poll: @busy_poll)

      def exchange(client, call)
        response = client.get(call.path)
        [response.status, response.body]
      end

      def list_by_batch(client, paths, concurrency)
        client.batch(concurrency: concurrency) do |batch|
          paths.each { |path| batch.get(path) { |answer| yield body_of(answer) } }
        end
      end

      def read(response)
        response.status
        response["content-type"]
        response.body
      end

      def content(answer, headers)
        raise answer if answer.is_a?(Exception)

        Orders.check(answer.status, answer["content-type"], answer["x-request-id"], headers)
        answer.json
      end

      def body_of(answer)
        raise answer if answer.is_a?(Exception)

        raise "status #{answer.status}" unless answer.status == 200

        answer.body
      end
    end
  end
end
