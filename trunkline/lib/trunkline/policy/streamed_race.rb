# frozen_string_literal: true

require_relative "../condition"
require_relative "../engine"
require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  module Policy
    # Sends several requests with streamed responses in parallel until the first response head arrives. Each request has
    # a thread, which ends when its head has arrived, because waiting for the head of a stream blocks the thread. The
    # caller reads the body of the first response.
    #
    # @api private
    class StreamedRace
      include Redacted

      # @yield [request, begun] sends the request, appends the Response to begun, and returns it when its head has
      #   arrived
      def initialize(&send)
        @send = send
        @lock = Lock.new
        @condition = Condition.new
        @threads = {}
        @begun = {}
      end

      # See Call#race.
      # @param first [Log::ExchangeRecord] of the first request
      # @param after [Float] seconds
      # @param second [#call] returns the record of the second request, or nil for none
      # @return [Array<Log::ExchangeRecord>] of the requests that were begun; a cancelled one has no result
      def run(first, after, second)
        start(first)
        wait(first.began + after)
        another = second.call if first.result.nil?
        start(another) if another
        wait(nil)
        winner = records.find { |record| record.result.is_a?(Response) }
        records
      ensure
        cancel_but(winner)
      end

      private

      def records = @threads.keys

      def start(record)
        begun = @begun[record] = []
        @threads[record] = Thread.new do
          Thread.current.report_on_exception = false
          result = result_of(record.request, begun)
          @lock.synchronize do
            record.ended = Engine.now
            record.result = result
            @condition.broadcast
          end
        end
      end

      # An exception other than a StandardError, such as NoMemoryError, must reach the caller's thread, too.
      def result_of(request, begun)
        @send.call(request, begun)
      rescue Exception => error # rubocop:disable Lint/RescueException
        error
      end

      # Waits until a request has a response, all requests have failed, or the time is over.
      def wait(limit)
        @lock.synchronize do
          until over?
            left = limit && (limit - Engine.now)
            break if left && left <= 0

            @lock.wait(@condition, left)
          end
        end
        results = records.filter_map(&:result)
        broken = results.find { |result| !result.is_a?(Response) && !result.is_a?(Error) }
        raise broken if broken
      end

      def over?
        records.any? { |record| record.result.is_a?(Response) } || records.all?(&:result)
      end

      # Kills the threads that still wait, and closes the responses that nobody reads. A request whose head arrived in
      # the meantime counts as cancelled, too.
      def cancel_but(winner)
        @threads.each do |record, thread|
          next if record.equal?(winner)

          thread.kill.join
          next if record.result.is_a?(Error)

          @begun[record].each(&:close)
          record.result = record.ended = nil
        end
      end
    end
  end
end
