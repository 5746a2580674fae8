# frozen_string_literal: true

require_relative "../errors"
require_relative "../redacted"
require_relative "policy_options"
require_relative "state"
require_relative "breaker/circuit"
require_relative "breaker/outcome"
require_relative "breaker/store"

module Trunkline
  module Policy
    # A circuit breaker: refuses requests to an origin for a while when too many of them fail. The clients of a process
    # that have the same options share the circuit of an origin.
    class Breaker
      include Redacted

      autoload :Semian, "#{__dir__}/breaker/semian"
      autoload :Stoplight, "#{__dir__}/breaker/stoplight"

      CALLABLE = PolicyOptions.callable("callable: it is given a Response or an Error")
      OPTIONS = PolicyOptions.new(:breaker,
                                  threshold: [0.5, PolicyOptions.number(0.01..1.0)],
                                  minimum: [20, PolicyOptions.integer(1..1_000_000)],
                                  window: [10.0, PolicyOptions.number(0.1..3600.0, "seconds")],
                                  cool_down: [5.0, PolicyOptions.number(0.01..3600.0, "seconds")],
                                  probes: [1, PolicyOptions.integer(1..1000)],
                                  failure: [Outcome.method(:failure?), CALLABLE],
                                  store: [nil, Store::CHECK])

      # @param value [true, Hash, Breaker]
      # @return [Breaker]
      # @raise [InvalidRequest]
      def self.of(value)
        return value if value.is_a?(Breaker)

        options = OPTIONS.read(value)
        options[:store]&.check(value)
        new(options)
      end

      # @return [Hash{String => Hash}] Circuit#to_h by "host:port". When clients with different options call an origin,
      #   the strictest circuit: an open one before a half-open one, a closed one last
      def self.stats
        now = Engine.now
        State.all(:breaker).each_with_object({}) do |((label, _), circuit), all|
          stats = circuit.to_h(now)
          known = all[label]
          all[label] = stats unless known && STRICTNESS.index(known[:state]) >= STRICTNESS.index(stats[:state])
        end
      end

      STRICTNESS = %i[closed half_open open].freeze
      private_constant :CALLABLE, :STRICTNESS

      # @param options [Hash{Symbol => Object}] of OPTIONS
      def initialize(options)
        @failure = options[:failure]
        @store = options[:store]
        @options = options.freeze
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      # @raise [BreakerOpen] when the circuit refuses the request
      def call(request, call)
        circuit(request.uri.label).run(call, request) { raise_failures { yield request } }
      rescue Failed => error
        result = error.result
        result.is_a?(Error) ? raise(result, cause: result.cause) : result
      rescue Refused => error
        call.notify(:breaker, request: request, state: :open, retry_in: error.retry_in)
        raise BreakerOpen.of(request, error, call.facts), cause: nil
      end

      private

      def circuit(label)
        State.of(:breaker, [label, @options]) { @store ? @store.circuit(label, @options) : Circuit.new(@options) }
      end

      # @return [Response] that does not count as a failure
      # @raise [Failed] when the response or the error counts as a failure
      # @raise [Error] that does not count as a failure
      def raise_failures
        response = yield
        raise Failed.new(response), cause: nil if failure?(response)

        response
      rescue Error => error
        raise unless @failure.call(error)

        raise Failed.new(error), cause: nil
      end

      # Closes the response when the callable given as failure: raises, since the caller does not get the response.
      def failure?(response)
        decided = false
        failed = @failure.call(response)
        decided = true
        failed
      ensure
        response.close unless decided
      end
    end
  end
end
