# frozen_string_literal: true

module Trunkline
  module Lab
    class Simulation
      # A server with so many workers and a queue before them. It does not know when a caller has given up: it works on
      # what nobody waits for, as most servers do.
      class Server
        # @return [Array<Float>] when each request came
        attr_reader :arrivals

        # @param simulation [Simulation]
        # @param workers [Integer]
        # @param queue [Numeric] how many requests may wait for a worker; one more is answered with 503
        # @yield when a worker begins
        # @yieldreturn [Float] seconds that it takes for the request
        def initialize(simulation, workers:, queue: Float::INFINITY, &seconds)
          @simulation = simulation
          @free = workers
          @most = queue
          @seconds = seconds
          @waiting = []
          @arrivals = []
        end

        # @param waiter [Waiter] finished with the answer's status
        # @return [void]
        def serve(waiter)
          @arrivals << @simulation.now
          return waiter.finish(503) if @waiting.size >= @most

          @waiting << waiter
          work
        end

        private

        def work
          while @free.positive? && (waiter = @waiting.shift)
            @free -= 1
            begin_work(waiter)
          end
        end

        def begin_work(waiter)
          @simulation.after(@seconds.call) do
            @free += 1
            waiter.finish(200)
            work
          end
        end
      end
    end
  end
end
