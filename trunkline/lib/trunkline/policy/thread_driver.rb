# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "call"
require_relative "streamed_race"

module Trunkline
  module Policy
    # Sends the requests of a single Call and waits for them, in the thread or fiber of the caller.
    #
    # @api private
    class ThreadDriver
      include Redacted

      # @param pool [Engine::Pool]
      # @param begun [Array, nil] gets each Response before its request is sent, so that the caller can close it
      # @yield [request, deadline, begun] sends the request and returns its Response
      def initialize(pool, begun = nil, &send_once)
        @pool = pool
        @begun = begun
        @send_once = send_once
      end

      # @param begun [Array, nil] as for #initialize
      # @return [ThreadDriver] that adds the responses of a call to begun
      def with_begun(begun) = begun ? ThreadDriver.new(@pool, begun, &@send_once) : self

      # @return [Response]
      # @raise [Error]
      def exchange(request, deadline) = @send_once.call(request, deadline, @begun)

      # @return [Boolean] whether #race accepts requests with streamed responses
      def races_streams? = true

      # @param seconds [Float, nil] maximum
      # @param signal [Signal, nil] ends the wait early
      # @return [Boolean] whether the signal was set in time
      def pause(seconds, signal)
        return signal.wait(seconds) if signal

        Kernel.sleep(seconds)
        false
      end

      # See Call#race.
      # @param record [Log::ExchangeRecord] of the first request
      # @param second [#call] returns the record of the second request, or nil for none
      # @return [Array<Log::ExchangeRecord>] of the requests that were begun; a cancelled one has no result
      def race(record, deadline, after, second)
        return race_streamed(record, deadline, after, second) if record.request.streaming?

        multi = Engine::Multi.new(@pool)
        records = [record]
        multi.add(record.request, deadline, record)
        await(multi, record.began + after, records)
        if record.result.nil? && (another = second.call)
          records << another
          multi.add(another.request, deadline, another)
        end
        await(multi, nil, records)
        records
      ensure
        multi&.close
        records&.each { |one| one.request.release }
      end

      private

      def race_streamed(record, deadline, after, second)
        race = StreamedRace.new { |request, begun| @send_once.call(request, deadline, begun) }
        records = race.run(record, after, second)
        @begun&.concat(records.map(&:result).grep(Response))
        records
      end

      # Waits until a request has a response, all requests have failed, or the time is over.
      def await(multi, limit, records)
        until over?(records)
          left = limit && (limit - Engine.now)
          return if left && left <= 0

          multi.run(left, results = [])
          results.each_slice(3) { |record, result| set_result(record, result) }
        end
      end

      def over?(records)
        records.any? { |record| record.result.is_a?(Response) } || records.all?(&:result)
      end

      def set_result(record, result)
        raise result unless result.is_a?(Response) || result.is_a?(Error)

        record.ended = Engine.now
        record.result = result
      end
    end
  end
end
