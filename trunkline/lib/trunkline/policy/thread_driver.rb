# frozen_string_literal: true

require_relative "../engine"
require_relative "../redacted"
require_relative "call"
require_relative "head_race"

module Trunkline
  module Policy
    # Sends and waits for a single Call, in the thread or fiber that made it.
    #
    # @api private
    class ThreadDriver
      include Redacted

      # @param pool [Engine::Pool]
      # @param begun [Array, nil] takes each Response before anything is sent, for whoever must close it
      # @yield [request, deadline, begun] sends it and returns its Response
      def initialize(pool, begun = nil, &send_once)
        @pool = pool
        @begun = begun
        @send_once = send_once
      end

      # @param begun [Array, nil] as for #initialize
      # @return [ThreadDriver] for a call of which begun takes the responses
      def noting(begun) = begun ? ThreadDriver.new(@pool, begun, &@send_once) : self

      # @return [Response]
      # @raise [Error]
      def exchange(request, deadline) = @send_once.call(request, deadline, @begun)

      # @return [Boolean] whether #race takes requests whose answers are streamed
      def races_streams? = true

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

      # Until one has an answer, all have failed, or the time is over.
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
