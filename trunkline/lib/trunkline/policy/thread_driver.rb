# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "call"
require_relative "head_race"

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
      def noting(begun) = begun ? ThreadDriver.new(@pool, begun, &@send_once) : self

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
      # @param lap [Log::Lap] of the first request
      # @param second [#call] returns the second lap, or nil for none
      # @return [Array<Log::Lap>] laps that were begun; a cancelled one has no result
      def race(lap, deadline, after, second)
        return race_to_head(lap, deadline, after, second) if lap.request.streaming?

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

      def race_to_head(lap, deadline, after, second)
        race = HeadRace.new { |request, begun| @send_once.call(request, deadline, begun) }
        laps = race.run(lap, after, second)
        @begun&.concat(laps.map(&:result).grep(Response))
        laps
      end

      # Waits until a lap has a response, all laps have failed, or the time is over.
      def await(multi, limit, laps)
        until over?(laps)
          left = limit && (limit - Engine.now)
          return if left && left <= 0

          multi.run(left, results = [])
          results.each_slice(3) { |lap, result| note(lap, result) }
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
