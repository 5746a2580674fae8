# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "origin_queue"

module Trunkline
  class Scheduler
    # The OriginQueues of a Scheduler.
    class Origins
      include Redacted

      # Number of queues above which empty ones are removed.
      MOST = 256

      # @return [Integer] waiting requests, in all queues
      attr_reader :waiting
      # @return [Array<OriginQueue>] the queues with waiting requests; always the same Array
      attr_reader :backlogged
      # @return [Hash{Engine::Origin => OriginQueue}] the queues that #queue_for has found before; always the same Hash
      attr_reader :found

      # @param options [BatchOptions]
      def initialize(options)
        @options = options
        @backlogged = []
        @found = {}.compare_by_identity # each client has its own Engine::Origins
        clear
      end

      # @param pending [PendingRequest]
      # @return [OriginQueue] the queue of the request's origin
      def queue_for(pending)
        origin = pending.request.origin
        @found[origin] || learn(origin, Engine.now)
      end

      # @return [Boolean] whether one more request may start to any known origin, or requests to other origins are
      #   needed
      def room?(now)
        only, second = @queues
        return only.nil? || only.room?(now) || only.stalled?(now) if second.nil?

        @queues.any? { |queue| queue.room?(now) || queue.stalled?(now) }
      end

      # @return [Integer] sum of the limits of the origins in use
      def limit
        @queues.sum { |queue| queue.empty? ? 0 : queue.limit }
      end

      # Adds a request at the end of a queue.
      def push(pending, queue)
        queue.waiting.push(pending)
        @backlogged << queue if queue.waiting.size == 1
        @waiting += 1
      end

      # Adds a request at the front of a queue.
      def unshift(pending, queue)
        queue.waiting.unshift(pending)
        @backlogged << queue if queue.waiting.size == 1
        @waiting += 1
      end

      # When few requests may be in flight in all, the origin with the fewest in flight goes first: one that does not
      # respond gets only its share.
      #
      # @return [OriginQueue, nil] a queue whose first waiting request may start
      def next_ready(now)
        chosen, second = @backlogged
        return (chosen if chosen.ready?(now)) if chosen && second.nil?

        chosen = nil
        index = -1
        while (queue = @backlogged[index += 1])
          emptier = chosen.nil? || queue.in_flight < chosen.in_flight
          chosen = queue if emptier && queue.ready?(now)
        end
        chosen
      end

      # @return [PendingRequest] the first waiting request of the queue
      def shift(queue)
        pending = queue.waiting.shift
        @backlogged.delete(queue) if queue.waiting.empty?
        @waiting -= 1
        pending
      end

      # @return [Boolean] whether the request was waiting
      def delete(pending) # rubocop:disable Naming/PredicateMethod -- it deletes
        queue = @backlogged.find { |one| one.waiting.delete(pending) } or return false

        @backlogged.delete(queue) if queue.waiting.empty?
        @waiting -= 1
        true
      end

      # @param all [Boolean] whether to include origins without waiting requests
      # @return [Float, nil] seconds until one more request may start; nil: a request must end first
      def wait(now, all:)
        queues = all ? @queues : @backlogged
        only, second = queues
        return only&.wait(now) if second.nil?

        queues.filter_map { |queue| queue.wait(now) }.min
      end

      # Removes all queues, and stores their limiters' findings.
      # @return [Array<PendingRequest>] the requests that were waiting
      def close(now)
        left = @backlogged.flat_map(&:waiting)
        @queues.each { |queue| queue.remember(now) }
        clear
        left
      end

      private

      def clear
        @by_name = {}
        @queues = []
        @backlogged.clear
        @found.clear
        @waiting = 0
      end

      # @param origin [Engine::Origin]
      def learn(origin, now)
        name = origin.url.origin
        queue = @by_name[name] || open_queue(name, now)
        @found.clear if @found.size >= MOST
        @found[origin] = queue
      end

      def open_queue(name, now)
        forget_empty(now) if @queues.size >= MOST
        queue = OriginQueue.new(name, @options, now)
        @queues << queue
        @by_name[name] = queue
      end

      # A client that uses many origins, such as a crawler, must not keep all their queues.
      def forget_empty(now)
        gone, @queues = @queues.partition(&:empty?)
        gone.each { |queue| queue.remember(now) }
        @by_name.delete_if { |_, queue| queue.empty? }
        @found.clear
      end
    end
  end
end
