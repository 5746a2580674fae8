# frozen_string_literal: true

require_relative "simulation/event_queue"

module Trunkline
  module Lab
    # Discrete-event simulation without a clock: time advances immediately from each event to the next, and random
    # numbers come from a seed, so that two runs with the same seed are equal on any machine. A waiting call runs in a
    # Fiber.
    class Simulation
      # An event that one fiber waits for. The first call of #finish resumes the fiber; later calls have no effect.
      class Waiter
        # @param simulation [Simulation]
        def initialize(simulation)
          @simulation = simulation
          @fiber = Fiber.current
          @finished = false
        end

        # @return [Boolean]
        def finished? = @finished

        # @param value [Object] returned by #wait
        # @return [void]
        def finish(value = nil)
          return if @finished

          @finished = true
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
      # @yield when that time has passed
      # @return [void]
      def after(seconds, &event)
        @events.push(@now + seconds, event)
      end

      # Begins calls at random times, independent of each other (a Poisson process): slow responses do not reduce the
      # rate of calls.
      #
      # @param per_second [Numeric]
      # @param seconds [Numeric] end of the arrivals
      # @yield for each call, in a separate fiber
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
      # @return [Float] a random number with an exponential distribution
      def exponential(mean) = -mean * Math.log(1.0 - @random.rand)

      # Waits in a fiber of this simulation.
      #
      # @param seconds [Numeric, nil] maximum
      # @yield [waiter] to be finished by the event
      # @return [Object, nil] the value passed to Waiter#finish; nil when the time was over
      def wait(seconds)
        waiter = Waiter.new(self)
        yield waiter if block_given?
        after(seconds) { waiter.finish } if seconds
        Fiber.yield
      end

      # Runs until there are no more events.
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
