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
          next_request = transfer.http_request
          while next_request
            next_request = transfer.streamed? ? stream(transfer, next_request) : buffer(transfer, next_request)
          end
          request.response
        end

        # Runs a call whose response body is buffered. Returns the next request, or nil.
        def buffer(transfer, http_request)
          transfer.receive(execute(transfer, http_request))
        end

        # Sends a request through the policies of its transfer. Returns the Response or the Error.
        def execute(transfer, http_request, begun = nil)
          pool = RequestConfig.connections.pool
          return Engine.perform(pool, http_request, transfer.deadline, begun) unless transfer.policy

          driver = Policy::ThreadDriver.new(pool, begun) do |step, deadline, responses|
            Engine.perform(pool, step, deadline, responses)
          end
          transfer.policy.perform(http_request, driver, Engine.now, transfer.caller_context)
        rescue Error => error
          error
        end

        # Runs a call whose response body is passed to callbacks. Returns the next request, or nil. An exception from a
        # callback ends the exchange and is raised to the caller.
        def stream(transfer, http_request)
          response = execute(transfer, http_request, begun = [])
          next_request = transfer.receive(response)
          next_request = transfer.receive(chunk(response)) until next_request || transfer.finished?
          next_request
        ensure
          begun&.each(&:close)
        end

        def chunk(response)
          response._mark_streamed.read
        rescue Error => error
          error
        end

        private_class_method :buffer, :execute, :stream, :chunk
      end
    end
  end
end
