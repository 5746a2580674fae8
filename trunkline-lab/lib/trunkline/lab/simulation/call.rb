# frozen_string_literal: true

require "trunkline"

module Trunkline
  module Lab
    class Simulation
      # One call of a client with at most one policy, in a fiber of a Simulation. It has the interface of Policy::Call
      # that policies use. The policy is the client's implementation.
      class Call
        @origins = 0

        class << self
          # @return [Request] to an origin for which no policy has a state yet
          def request
            Trunkline::Request.new("GET", Trunkline::URL.parse("http://#{@origins += 1}.simulation.test/"), [])
          end
        end

        # @return [Integer] requests sent
        attr_reader :sent
        # @return [Symbol, nil] the reason for the next request, if it is not the first
        attr_writer :reason

        # @param simulation [Simulation]
        # @param server [Server]
        # @param timeout [Float, nil] seconds for each request
        def initialize(simulation, server, timeout: nil)
          @simulation = simulation
          @server = server
          @timeout = timeout
          @sent = 0
        end

        # @return [Float] seconds of the simulation
        def now = @simulation.now

        # @return [Boolean] true: no response is streamed
        def races?(_request) = true

        # @return [nil] since there is no total timeout
        def left = nil

        # @return [Float] a random number from 0.0 to 1.0
        def rand = @simulation.random.rand

        # Does nothing: there are no probes.
        # @return [nil]
        def notify(_kind, _facts) = nil

        # @param seconds [Float]
        # @return [nil]
        def sleep(seconds) = @simulation.wait(seconds)

        # @param request [Request]
        # @param policy [#call, nil]
        # @return [Response]
        # @raise [Trunkline::Error]
        def perform(request, policy)
          policy ? policy.call(request, self) { |one| exchange(one) } : exchange(request)
        end

        # Sends a request, and a second one when there is no response after some seconds; returns the first response.
        #
        # @param seconds [Float]
        # @yieldreturn [Request, nil] the second request; nil for none
        # @return [Response]
        # @raise [Trunkline::Error]
        def race(request, seconds)
          await_response(request) do |waiter|
            @simulation.after(seconds) { send_to(waiter) if !waiter.finished? && yield }
          end
        end

        private

        def exchange(request) = await_response(request)

        def await_response(request)
          status = @simulation.wait(@timeout) do |waiter|
            send_to(waiter)
            yield waiter if block_given?
          end
          return Trunkline::Response.build(request: request, status: status) if status

          raise Trunkline::FirstByteTimeout.new("no answer", request: request, phase: :first_byte, sent: :all)
        end

        def send_to(waiter)
          @sent += 1
          @server.serve(waiter)
        end
      end
    end
  end
end
