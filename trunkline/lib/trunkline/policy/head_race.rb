# frozen_string_literal: true

require_relative "../condition"
require_relative "../engine"
require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  module Policy
    # Attempts whose answers are streamed, side by side until the first head is there: each in a thread, which ends with
    # it, because who waits for the head of a stream waits for that alone. The caller reads the body of the first.
    #
    # @api private
    class HeadRace
      include Redacted

      # @yield [request, begun] sends it and returns its Response with its head; begun takes the Response before
      def initialize(&send)
        @send = send
        @lock = Lock.new
        @condition = Condition.new
        @threads = {}
        @begun = {}
      end

      # As Call#race.
      # @param first [Log::Lap] that begins
      # @param after [Float] seconds
      # @param second [#call] gives another lap, or nil
      # @return [Array<Log::Lap>] those that were begun; without a result: it was cancelled
      def run(first, after, second)
        start(first)
        wait(first.began + after)
        another = second.call if first.result.nil?
        start(another) if another
        wait(nil)
        winner = laps.find { |lap| lap.result.is_a?(Response) }
        laps
      ensure
        cancel_but(winner)
      end

      private

      def laps = @threads.keys

      def start(lap)
        begun = @begun[lap] = []
        @threads[lap] = Thread.new do
          Thread.current.report_on_exception = false
          result = result_of(lap.request, begun)
          @lock.synchronize do
            lap.ended = Engine.now
            lap.result = result
            @condition.broadcast
          end
        end
      end

      # What is no StandardError, such as NoMemoryError, is the caller's as well.
      def result_of(request, begun)
        @send.call(request, begun)
      rescue Exception => error # rubocop:disable Lint/RescueException
        error
      end

      # Until one has an answer, all have failed, or the time is over.
      def wait(limit)
        @lock.synchronize do
          until over?
            left = limit && (limit - Engine.now)
            break if left && left <= 0

            @lock.wait(@condition, left)
          end
        end
        broken = laps.map(&:result).find { |result| result && !result.is_a?(Response) && !result.is_a?(Error) }
        raise broken if broken
      end

      def over?
        laps.any? { |lap| lap.result.is_a?(Response) } || laps.all?(&:result)
      end

      # Ends what still waits, and closes what nobody reads. A lap that had its head in the meantime was cancelled too.
      def cancel_but(winner)
        @threads.each do |lap, thread|
          next if lap.equal?(winner)

          thread.kill.join
          next if lap.result.is_a?(Error)

          @begun[lap].each(&:close)
          lap.result = lap.ended = nil
        end
      end
    end
  end
end
