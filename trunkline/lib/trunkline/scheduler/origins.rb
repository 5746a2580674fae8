# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "origin_queue"

module Trunkline
  class Scheduler
    # The OriginQueues of a Scheduler, and which of them have requests that wait.
    class Origins
      include Redacted

      # Queues that are kept though they are empty.
      MOST = 256

      # @return [Integer] requests that wait, in all queues
      attr_reader :waiting
      # @return [Array<OriginQueue>] those of which requests wait; the same Array at all times
      attr_reader :backlogged
      # @return [Hash{Engine::Origin => OriginQueue}] those that #queue_for has found before; the same Hash at all times
      attr_reader :found

      # @param options [BatchOptions]
      def initialize(options)
        @options = options
        @backlogged = []
        @found = {}.compare_by_identity # each client has Origins of its own
        clear
      end

      # @param pending [PendingRequest]
      # @return [OriginQueue] of the origin that it goes to
      def queue_for(pending)
        origin = pending.request.origin
        @found[origin] || learn(origin, Engine.now)
      end

      # @return [Boolean] whether there is an origin that one more request may start to, or reason to look for one
      def room?(now)
        only, second = @queues
        return only.nil? || only.room?(now) || only.stalled?(now) if second.nil?

        @queues.any? { |queue| queue.room?(now) || queue.stalled?(now) }
      end

      # @return [Integer] sum of the limits of the origins in use
      def limit
        @queues.sum { |queue| queue.empty? ? 0 : queue.limit }
      end

      # Has a request wait.
      def push(pending, queue)
        queue.waiting.push(pending)
        @backlogged << queue if queue.waiting.size == 1
        @waiting += 1
      end

      # Has a request wait that goes before all others of its origin.
      def unshift(pending, queue)
        queue.waiting.unshift(pending)
        @backlogged << queue if queue.waiting.size == 1
        @waiting += 1
      end

      # Where few may be in flight in all, the origin with the fewest goes first: one that does not answer gets no more
      # than its share.
      #
      # @return [OriginQueue, nil] whose first waiting request may start
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

      # @return [PendingRequest] the first that waits in queue
      def shift(queue)
        pending = queue.waiting.shift
        @backlogged.delete(queue) if queue.waiting.empty?
        @waiting -= 1
        pending
      end

      # @return [Boolean] whether it waited, and does no more
      def delete(pending) # rubocop:disable Naming/PredicateMethod -- it deletes
        queue = @backlogged.find { |one| one.waiting.delete(pending) } or return false

        @backlogged.delete(queue) if queue.waiting.empty?
        @waiting -= 1
        true
      end

      # @param all [Boolean] also for origins of which no request waits
      # @return [Float, nil] seconds until one more may start; nil: when a request has ended
      def wait(now, all:)
        queues = all ? @queues : @backlogged
        only, second = queues
        return only&.wait(now) if second.nil?

        queues.filter_map { |queue| queue.wait(now) }.min
      end

      # Forgets all queues, and keeps what their limiters have found out.
      # @return [Array<PendingRequest>] that waited
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

      # A crawl over many origins must not keep them all.
      def forget_empty(now)
        gone, @queues = @queues.partition(&:empty?)
        gone.each { |queue| queue.remember(now) }
        @by_name.delete_if { |_, queue| queue.empty? }
        @found.clear
      end
    end
  end
end
