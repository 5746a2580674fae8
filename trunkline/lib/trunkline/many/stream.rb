# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../progress"
require_relative "../redacted"
require_relative "dispatcher"
require_relative "requests"

module Trunkline
  module Many
    # Pulls requests from an Enumerable as they can be sent, and yields what they come to, in order of completion.
    class Stream
      include Redacted

      # @param source [Enumerable]
      def initialize(source, client, pool, settings)
        @requests = Requests.new(client)
        @dispatcher = Dispatcher.new(pool, settings, @requests)
        @settings = settings
        @reuse = settings.reuse_bodies
        @progress = Progress::Reporter.for(settings.progress)
        @source = source
        @index = 0
      end

      # @yield [item, result, index]
      def run(&block)
        Interrupts.watch
        check if @source.is_a?(Array)
        @next = @source.is_a?(Array) ? nil : @source.to_enum
        drive(&block)
        @progress&.finish(@dispatcher)
        nil
      ensure
        Many.tell_cancelled(unfinished, @settings.on_cancel)
      end

      private

      # An Array with a bad request is refused as a whole: none of it was begun.
      def check
        @requests.check(@source)
      rescue InvalidRequest, MissingTimeout
        @source = [].freeze
        raise
      end

      # @return [Array<Object>] requests without a result: what was pulled, and the rest of an Array
      def unfinished
        orders = @dispatcher.close.sort_by(&:index)
        return orders.map(&:item) unless @source.is_a?(Array)

        # An interrupt may have come between the start of a request and its count.
        following = [@index, *orders.last(1).map { |order| order.index + 1 }].max
        orders.map(&:item).concat(@source.drop(following))
      end

      def drive
        pull
        until @exhausted && @dispatcher.idle?
          @dispatcher.turn(@progress && Progress::INTERVAL, pulling: !@exhausted) do |order, result|
            Many.raise_unhidden(result) if result.is_a?(Exception)
            @progress&.count(result)
            yield order.item, result, order.index
            result._empty if @reuse && result.is_a?(Response)
            # In its place: the limiter learns from answers that left its slots full. Whatever else has become possible
            # can wait for the turn's end.
            pull_one(order.terms.several ? nil : order)
          end
          @progress&.tell(@dispatcher)
          pull
        end
      end

      def pull
        nil while pull_one
      end

      # @param used [Order, nil] that is over, to stand for the next
      # @return [Boolean, nil] whether there was room for one, and one to be had
      def pull_one(used = nil)
        return if @exhausted || !@dispatcher.room?

        item = @next ? take : @source[@index]
        @exhausted = true if item.nil? && @next.nil? && @index >= @source.size
        return if @exhausted

        order = @requests.order(item, @index, used || Order.new)
        @dispatcher.add(order)
        @index += 1
        true
      end

      def take
        Interrupts.throwing_on { @next.next }
      rescue StopIteration
        @exhausted = true
        nil
      end
    end
  end
end
