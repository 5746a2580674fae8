# frozen_string_literal: true

module Trunkline
  module Lab
    class Simulation
      # A server with a number of workers and a queue. It does not know when a caller has given up: it also processes
      # requests that nobody waits for, as most servers do.
      class Server
        # @return [Array<Float>] arrival time of each request
        attr_reader :arrivals

        # @param simulation [Simulation]
        # @param workers [Integer]
        # @param queue [Numeric] number of requests that may wait for a worker; another one gets a 503
        # @yield when a worker begins
        # @yieldreturn [Float] seconds that the worker takes for the request
        def initialize(simulation, workers:, queue: Float::INFINITY, &seconds)
          @simulation = simulation
          @free = workers
          @max_queue = queue
          @seconds = seconds
          @waiting = []
          @arrivals = []
        end

        # @param waiter [Waiter] finished with the status of the response
        # @return [void]
        def serve(waiter)
          @arrivals << @simulation.now
          return waiter.finish(503) if @waiting.size >= @max_queue

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
