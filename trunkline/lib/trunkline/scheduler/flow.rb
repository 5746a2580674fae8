# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../policy"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # The policies of one call among many. They are written for a single call, which waits for each response; here they
    # run in a fiber, which is suspended until what it waits for is there. It is the driver of their Policy::Call.
    #
    # #first and #after return what the call wants next: a Request to send, a Pause or a Race; or its result, a Response
    # or a StandardError.
    class Flow
      include Redacted

      KEY = :trunkline_flow
      private_constant :KEY

      # Wait until a moment (monotonic seconds; nil: no end) or until the signal is set.
      Pause = Struct.new(:until, :signal)

      # Send the request of the first lap; when there is no answer at a moment, what #second returns, too. The flow goes
      # on with its laps. Of streamed answers winner is the lap whose head was first.
      Race = Struct.new(:laps, :at, :second, :winner) do
        include Redacted

        # @return [Request] of the lap that was begun last
        def request = laps.last.request
      end

      # Ends the fiber of a call that was given up, so that its policies clean up.
      class GivenUp < Exception; end # rubocop:disable Lint/InheritException -- no policy is to rescue it

      # @return [Flow, nil] that the current fiber runs
      def self.current = Thread.current[KEY]

      # @param policy [CallPolicy, #perform]
      # @param request [Request] the call's first
      # @param began [Float] monotonic seconds
      # @param surroundings [Surroundings, nil]
      # @param races_streams [Boolean] as Policy::ThreadDriver#races_streams?
      def initialize(policy, request, began, surroundings = nil, races_streams: true)
        @races_streams = races_streams
        @suspended = false
        # Blocking: a signer may wait for something, and a Fiber scheduler does not know this fiber.
        @fiber = Fiber.new(blocking: true) do
          Thread.current[KEY] = self
          policy.perform(request, self, began, surroundings)
        end
      end

      # Starts it.
      def first = resume { @fiber.resume }

      # @param result [Response, Exception] of the request that was wanted; of a Pause, whether its signal was set; of a
      #   Race, nil
      def after(result)
        return result if result.is_a?(Exception) && !result.is_a?(StandardError) # no policy rescues it

        resume { @fiber.resume(result) }
      end

      # Ends it before it has a result. One that has not begun needs no end, nor does one that is in a caller's code, of
      # which JRuby goes on in a thread of its own when the thread here is killed.
      # @return [nil]
      def give_up
        resume { @fiber.resume(GivenUp.new) } if @suspended
        nil
      rescue GivenUp, FiberError
        nil
      end

      # ---- the driver, in the fiber ----

      # @return [Response]
      # @raise [Error]
      def exchange(request, _deadline) = await(request)

      # As Policy::ThreadDriver#pause.
      def pause(seconds, signal)
        await(Pause.new(seconds && (Engine.now + seconds), signal))
      end

      # As Policy::ThreadDriver#races_streams?
      def races_streams? = @races_streams

      # As Policy::ThreadDriver#race.
      def race(lap, _deadline, after, second)
        race = Race.new([lap], lap.began + after, second)
        await(race)
        race.laps
      end

      private

      # Raises here what Fiber#raise would: JRuby 9.4's can be called once in the life of a fiber.
      def await(wanted)
        @suspended = true
        result = Fiber.yield(wanted)
        @suspended = false
        result.is_a?(Exception) ? raise(result) : result
      end

      def resume(&block)
        Interrupts.throwing_on(&block)
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : error
      end
    end
  end
end
