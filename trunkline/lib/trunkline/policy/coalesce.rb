# frozen_string_literal: true

require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"
require_relative "../response"
require_relative "policy_options"
require_relative "signal"

module Trunkline
  module Policy
    # Lets equal GETs that are in flight share one response. The first call sends its request, the others wait for its
    # result. When the first call gives up, one of the waiting calls sends its request.
    class Coalesce
      include Redacted

      NAMES = PolicyOptions::Check.new("an Array of field names", lambda do |value|
        value.map { |name| Headers.field_name(name, "vary").downcase }.freeze if value.is_a?(Array)
      end)
      OPTIONS = PolicyOptions.new(:coalesce, vary: [%w[accept accept-encoding accept-language].freeze, NAMES])
      # Fields of range and conditional requests: calls share a response only if these fields are equal.
      RANGE_AND_CONDITIONS = %w[range if-range if-none-match if-modified-since if-match if-unmodified-since].freeze
      private_constant :NAMES, :RANGE_AND_CONDITIONS

      # A request in flight: the signal that it has ended, the timeouts of the call that sent it, whether other calls
      # wait for it, and its result; a result of nil means that this call gave up.
      InFlightRequest = Struct.new(:signal, :timeouts, :shared, :result) do
        include Redacted

        # Returns nil for a timeout that applies to the sending call only: its deadline, or a phase timeout when the
        # timeouts differ.
        def result_for(timeouts)
          case result
          when TotalTimeout then nil
          when TimeoutError then result if self.timeouts == timeouts
          else result
          end
        end
      end

      # @param value [true, Hash]
      # @return [Coalesce]
      # @raise [InvalidRequest]
      def self.of(value)
        value.is_a?(Coalesce) ? value : new(**OPTIONS.read(value))
      end

      # @param vary [Array<String>] names of fields that tell requests apart
      def initialize(vary:)
        @vary = vary
        @requests = {}
        @lock = Lock.new
        @pid = Process.pid
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      # @raise [Error]
      def call(request, call, &forward)
        return yield(request) if request.method != "GET" || request.content? || request.streaming?

        key = key_of(request, call)
        timeouts = call.builder.timeouts
        loop do
          in_flight, first = join(key, timeouts)
          return lead(key, in_flight, request, &forward) if first

          call.wait(in_flight.signal) || raise(call.exceeded)
          result = in_flight.result_for(timeouts)
          return follow(result, request) if result
        end
      end

      private

      def key_of(request, call)
        sent = call.with_policy_fields(request).headers
        names = RANGE_AND_CONDITIONS + call.builder.credential_names.keys + @vary
        [request.url, call.signer, *names.map { |name| sent[name] }, call.sharing]
      end

      # @return [Array(InFlightRequest, Boolean)] the in_flight, and whether it is new
      def join(key, timeouts)
        @lock.synchronize do
          drop_after_fork
          in_flight = @requests[key]
          next [@requests[key] = InFlightRequest.new(Signal.new, timeouts, false), true] unless in_flight

          in_flight.shared = true
          [in_flight, false]
        end
      end

      # Drops the flights of the parent process after a fork: the threads that would end them do not run in the child.
      def drop_after_fork
        return if @pid == Process.pid

        @requests.clear
        @pid = Process.pid
      end

      def lead(key, in_flight, request)
        in_flight.result = yield request
      rescue Error => error
        in_flight.result = error
        raise
      ensure
        leave(key, in_flight, request)
      end

      # The caller that sent the request may change the body of its Response as soon as it has it, so the others copy
      # from a copy.
      def leave(key, in_flight, request)
        shared = @lock.synchronize do
          @requests.delete(key)
          in_flight.shared
        end
        result = in_flight.result
        in_flight.result = result._copy_for(request) if shared && result.is_a?(Response)
      ensure
        in_flight.signal.set
      end

      # Each caller gets a separate Response, because it may change the body.
      def follow(result, request)
        raise result.dup if result.is_a?(Error)

        result._copy_for(request)
      end
    end
  end
end
