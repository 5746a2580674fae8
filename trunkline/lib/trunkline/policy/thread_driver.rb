# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "call"

module Trunkline
  module Policy
    # Sends and waits for a single Call, in the thread or fiber that made it.
    #
    # @api private
    class ThreadDriver
      include Redacted

      # @param pool [Engine::Pool]
      # @yield [request, deadline] sends it and returns its Response
      def initialize(pool, &send_once)
        @pool = pool
        @send_once = send_once
      end

      # @return [Response]
      # @raise [Error]
      def exchange(request, deadline) = @send_once.call(request, deadline)

      # @param seconds [Float, nil] at the most
      # @param signal [Signal, nil] what ends the wait before
      # @return [Boolean] whether signal was set in time
      def pause(seconds, signal)
        return signal.wait(seconds) if signal

        Kernel.sleep(seconds)
        false
      end

      # As Call#race.
      # @param lap [Log::Lap] that begins
      # @param second [#call] gives another lap, or nil
      # @return [Array<Log::Lap>] those that were begun; without a result: it was cancelled
      def race(lap, deadline, after, second)
        multi = Engine::Multi.new(@pool)
        laps = [lap]
        multi.add(lap.request, deadline, lap)
        await(multi, lap.began + after, laps)
        if lap.result.nil? && (another = second.call)
          laps << another
          multi.add(another.request, deadline, another)
        end
        await(multi, nil, laps)
        laps
      ensure
        multi&.close
        laps&.each { |one| one.request.release }
      end

      private

      # Until one has an answer, all have failed, or the time is over.
      def await(multi, limit, laps)
        until over?(laps)
          left = limit && (limit - Engine.now)
          return if left && left <= 0

          multi.run(left).each_slice(2) { |lap, result| note(lap, result) }
        end
      end

      def over?(laps)
        laps.any? { |lap| lap.result.is_a?(Response) } || laps.all?(&:result)
      end

      def note(lap, result)
        raise result unless result.is_a?(Response) || result.is_a?(Error)

        lap.ended = Engine.now
        lap.result = result
      end
    end
  end
end
