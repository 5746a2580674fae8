# frozen_string_literal: true

require_relative "../progress"
require_relative "dispatcher"
require_relative "requests"

module Trunkline
  module Many
    # Pulls requests from an Enumerable as they can be sent, and yields what they come to, in order of completion.
    class Stream
      # @param source [Enumerable]
      def initialize(source, client, pool, settings)
        @requests = Requests.new(client)
        @dispatcher = Dispatcher.new(pool, settings, @requests)
        @settings = settings
        @progress = Progress::Reporter.for(settings.progress)
        @source = source
        @index = 0
        @used = [] # orders that are over, to stand for the next ones
      end

      # @yield [item, result, index]
      def run(&block)
        @requests.check(@source) if @source.is_a?(Array)
        @next = @source.is_a?(Array) ? nil : @source.to_enum
        drive(&block)
        @progress&.finish(@dispatcher)
        nil
      ensure
        Many.tell_cancelled(@dispatcher.close.sort_by(&:index), @settings.on_cancel)
      end

      private

      def drive
        pull
        until @exhausted && @dispatcher.idle?
          @dispatcher.turn(@progress && Progress::INTERVAL, pulling: !@exhausted) do |order, result|
            Many.raise_unhidden(result) if result.is_a?(Exception)
            @progress&.count(result)
            yield order.item, result, order.index
            result._empty if @settings.reuse_bodies && result.is_a?(Response)
            @used << order unless order.terms.several
          end
          @progress&.tell(@dispatcher)
          pull
        end
      end

      # What is added is sent at the next turn: it is pulled when all that came has been yielded, so that its time does
      # not run before. A source that is no Array may take its own time for each.
      def pull
        now = clock
        room = 0
        until @exhausted
          room = @dispatcher.room(now) if room < 1
          return if room < 1

          item = @next ? take : @source[@index]
          return if @exhausted ||= @next.nil? && @index >= @source.size

          now = clock if @next
          @dispatcher.add(@requests.order(item, @index, @used.pop || Order.new), now)
          @index += 1
          room -= 1
        end
      end

      def clock
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      def take
        @next.next
      rescue StopIteration
        @exhausted = true
        nil
      end
    end
  end
end
