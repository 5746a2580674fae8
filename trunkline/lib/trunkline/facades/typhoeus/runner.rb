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
          plan = transfer.plan
          plan = transfer.streamed? ? stream(transfer, plan) : perform(transfer, plan) while plan
          request.response
        end

        def perform(transfer, plan)
          transfer.receive(exchange(plan, transfer.deadline, false))
        end

        def exchange(plan, deadline, streaming)
          Engine.perform(RequestConfig.connections.pool, plan.prepared, plan.request, plan.content.producer,
                         plan.body_length, deadline, streaming, nil)
        rescue Error => error
          error
        end

        # An exception from a callback ends the exchange and is raised to the caller.
        def stream(transfer, plan)
          response = exchange(plan, transfer.deadline, held = [])
          following = transfer.receive(response)
          following = transfer.receive(chunk(response)) until following || transfer.finished?
          following
        ensure
          held&.each(&:close)
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
