# frozen_string_literal: true

require "trunkline"

module Trunkline
  module Lab
    class Simulation
      # One call of a client with at most one policy, in a fiber of a Simulation: what the policy is told of the call,
      # and how it waits and sends. The policy is the client's own.
      class Call
        @origins = 0

        class << self
          # @return [Request] to an origin that no policy knows yet
          def request
            Trunkline::Request.new("GET", Trunkline::URL.parse("http://#{@origins += 1}.simulation.test/"), [])
          end
        end

        # @return [Integer] requests sent
        attr_reader :sent
        # @return [Symbol, nil] why the next request is sent, when it is not the first
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

        # @return [Boolean] none is streamed
        def races?(_request) = true

        # @return [nil] there is no total timeout
        def left = nil

        # @return [Float] from 0.0 to 1.0
        def rand = @simulation.random.rand

        # Nobody listens.
        # @return [nil]
        def tell(_kind, _facts) = nil

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

        # Sends a request, and a second one when there is no answer after some seconds; the first answer counts.
        #
        # @param seconds [Float]
        # @yieldreturn [Request, nil] the second one; nil for none
        # @return [Response]
        # @raise [Trunkline::Error]
        def race(request, seconds)
          answered(request) do |waiter|
            @simulation.after(seconds) { send_to(waiter) if !waiter.over? && yield }
          end
        end

        private

        def exchange(request) = answered(request)

        def answered(request)
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
