# frozen_string_literal: true

require_relative "../block_arity"
require_relative "../errors"
require_relative "../redacted"
require_relative "../request"

module Trunkline
  module Policy
    # What a caller gives as use:, in the chain.
    #
    #   ->(request, forward) { forward.call(request.with(headers: { "X-Tag" => "a" })) }
    class Middleware
      include Redacted

      # @param name [Symbol] of the option
      # @param callable [#call] of a request and what forwards it
      # @return [Middleware]
      # @raise [InvalidRequest]
      def self.of(name, callable)
        return callable if callable.is_a?(Middleware)
        raise InvalidRequest.of(name, callable, "callable with a request and what forwards it, or an Array of such") unless
          callable.respond_to?(:call)

        block = callable.is_a?(Proc) ? callable : callable.method(:call)
        required = block.arity.negative? ? -block.arity - 1 : block.arity
        fits = block.arity.negative? ? required <= 2 : required == 2
        raise InvalidRequest, "#{name}: a middleware must take 2 arguments (request, forward), it takes #{block.arity}" unless fits

        new(callable)
      end

      # @param callable [#call]
      def initialize(callable)
        @callable = callable
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] the rest of the chain
      # @return [Response]
      def call(request, call)
        forwarded = false
        forward = lambda do |following|
          refuse(following, "forward", "a Request") unless following.is_a?(Request)
          call.reason = :again if forwarded
          forwarded = true
          yield following
        end
        response = @callable.call(request, forward)
        response.is_a?(Response) ? response : refuse(response, "use", "a middleware that returns a Response")
      end

      private

      def refuse(given, what, allowed)
        raise InvalidRequest.of(what, given.class, allowed)
      end
    end
  end
end
