# frozen_string_literal: true

require_relative "simulation/event_queue"

module Trunkline
  module Lab
    # Discrete events without a clock: time goes at once from each event to the next, and chance comes from a seed, so
    # that two runs with one seed are the same on any machine. What waits runs in a Fiber.
    class Simulation
      # What one fiber waits for. The first that finishes it resumes the fiber; later ones come too late.
      class Waiter
        # @param simulation [Simulation]
        def initialize(simulation)
          @simulation = simulation
          @fiber = Fiber.current
          @over = false
        end

        # @return [Boolean]
        def over? = @over

        # @param value [Object] what #wait returns
        # @return [void]
        def finish(value = nil)
          return if @over

          @over = true
          @simulation.after(0) { @fiber.resume(value) }
        end
      end

      # @return [Float] seconds since the beginning
      attr_reader :now
      # @return [Random]
      attr_reader :random

      # @param seed [Integer]
      def initialize(seed)
        @random = Random.new(seed)
        @now = 0.0
        @events = EventQueue.new
      end

      # @param seconds [Numeric] from now
      # @yield when they are over
      # @return [void]
      def after(seconds, &event)
        @events.push(@now + seconds, event)
      end

      # Begins calls at random times, independent of each other (a Poisson process): slow answers do not make callers
      # call less.
      #
      # @param per_second [Numeric]
      # @param seconds [Numeric] until when
      # @yield for each call, in a fiber of its own
      # @return [void]
      def arrivals(per_second, seconds, &call)
        pause = exponential(1.0 / per_second)
        return if @now + pause >= seconds

        after(pause) do
          arrivals(per_second, seconds, &call)
          Fiber.new(&call).resume
        end
      end

      # @param mean [Float]
      # @return [Float] at random, exponentially distributed
      def exponential(mean) = -mean * Math.log(1.0 - @random.rand)

      # Waits in a fiber of this simulation.
      #
      # @param seconds [Numeric, nil] at the most
      # @yield [waiter] to be finished by what is waited for
      # @return [Object, nil] what it was finished with; nil: the time was over
      def wait(seconds)
        waiter = Waiter.new(self)
        yield waiter if block_given?
        after(seconds) { waiter.finish } if seconds
        Fiber.yield
      end

      # Until nothing happens any more.
      # @return [self]
      def run
        while (@now, event = @events.shift)
          event.call
        end
        self
      end
    end
  end
end
