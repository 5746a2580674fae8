# frozen_string_literal: true

require_relative "../block_arity"
require_relative "../errors"
require_relative "../redacted"
require_relative "../request"

module Trunkline
  module Policy
    # A policy that calls what the caller gave as use:.
    #
    #   ->(request, forward) { forward.call(request.with(headers: { "X-Tag" => "a" })) }
    class Middleware
      include Redacted

      # @param name [Symbol] of the option
      # @param callable [#call] takes a request, and a callable that forwards a request
      # @return [Middleware]
      # @raise [InvalidRequest]
      def self.of(name, callable)
        return callable if callable.is_a?(Middleware)

        unless callable.respond_to?(:call)
          raise InvalidRequest.of(name, callable, "callable with a request and what forwards it, or an Array of such")
        end

        check_arity(name, (callable.is_a?(Proc) ? callable : callable.method(:call)).arity)
        new(callable)
      end

      def self.check_arity(name, arity)
        return if arity == 2 || (arity.negative? && arity >= -3)

        raise InvalidRequest, "#{name}: a middleware must take 2 arguments (request, forward), it takes #{arity}"
      end
      private_class_method :check_arity

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
        last = nil
        forward = lambda do |following|
          refuse(following, "forward", "a Request") unless following.is_a?(Request)
          prepare_repeat(last, call) if last
          last = yield following
        end
        response = @callable.call(request, forward)
        response.is_a?(Response) ? response : refuse(response, "use", "a middleware that returns a Response")
      end

      private

      def prepare_repeat(last, call)
        last._discard if last.request.streaming?
        call.reason = :again
      end

      def refuse(given, what, allowed)
        raise InvalidRequest.of(what, given.class, allowed)
      end
    end
  end
end
