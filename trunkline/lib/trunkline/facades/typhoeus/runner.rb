# frozen_string_literal: true

require_relative "streamed_transfer"

module Trunkline
  module Facades
    module Typhoeus
      # Runs one request in the caller's thread. Hydra runs many.
      module Runner
        module_function

        # @param request [Typhoeus::Request]
        # @return [Typhoeus::Response]
        def run(request)
          transfer = Transfer.of(request)
          transfer.finish_invalid if transfer.invalid?
          following = transfer.http_request
          following = transfer.streamed? ? stream(transfer, following) : perform(transfer, following) while following
          request.response
        end

        def perform(transfer, http_request)
          transfer.receive(exchange(transfer, http_request))
        end

        def exchange(transfer, http_request, begun = nil)
          pool = RequestConfig.connections.pool
          return Engine.perform(pool, http_request, transfer.deadline, begun) unless transfer.policy

          driver = Policy::ThreadDriver.new(pool, begun) { |step, deadline, made| Engine.perform(pool, step, deadline, made) }
          transfer.policy.perform(http_request, driver, Engine.now, transfer.surroundings)
        rescue Error => error
          error
        end

        # An exception from a callback ends the exchange and is raised to the caller.
        def stream(transfer, http_request)
          response = exchange(transfer, http_request, begun = [])
          following = transfer.receive(response)
          following = transfer.receive(chunk(response)) until following || transfer.finished?
          following
        ensure
          begun&.each(&:close)
        end

        def chunk(response)
          response._streamed.read
        rescue Error => error
          error
        end

        private_class_method :perform, :exchange, :stream, :chunk
      end
    end
  end
end
