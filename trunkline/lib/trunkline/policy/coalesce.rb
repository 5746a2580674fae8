# frozen_string_literal: true

require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"
require_relative "settings"
require_relative "signal"

module Trunkline
  module Policy
    # Lets equal GETs that are in flight share one response. The first call sends its request, the others wait for its
    # result. When the first call gives up, one of the waiting calls sends its request.
    class Coalesce
      include Redacted

      NAMES = Settings::Check.new("an Array of field names", lambda do |value|
        value.map { |name| Headers.field_name(name, "vary").downcase }.freeze if value.is_a?(Array)
      end)
      SETTINGS = Settings.new(:coalesce, vary: [%w[accept accept-encoding accept-language].freeze, NAMES])
      # Fields of range and conditional requests: calls share a response only if these fields are equal.
      OWN_ANSWER = %w[range if-range if-none-match if-modified-since if-match if-unmodified-since].freeze
      private_constant :NAMES, :OWN_ANSWER

      # A request in flight: the signal that it has ended, the timeouts of the call that sent it, and its result; a
      # result of nil means that this call gave up.
      Flight = Struct.new(:signal, :timeouts, :result) do
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
        value.is_a?(Coalesce) ? value : new(**SETTINGS.read(value))
      end

      # @param vary [Array<String>] names of fields that tell requests apart
      def initialize(vary:)
        @vary = vary
        @flights = {}
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
          flight, first = join(key, timeouts)
          return lead(key, flight, request, &forward) if first

          call.wait(flight.signal) || raise(call.exceeded)
          result = flight.result_for(timeouts)
          return follow(result, request) if result
        end
      end

      private

      def key_of(request, call)
        sent = call.completed(request).headers
        names = OWN_ANSWER + call.builder.credential_names.keys + @vary
        [request.url, call.signer, *names.map { |name| sent[name] }, call.sharing]
      end

      # @return [Array(Flight, Boolean)] the flight, and whether it is new
      def join(key, timeouts)
        @lock.synchronize do
          forget_parents
          flight = @flights[key]
          flight ? [flight, false] : [@flights[key] = Flight.new(Signal.new, timeouts), true]
        end
      end

      # Drops the flights of the parent process after a fork: the threads that would end them do not run in the child.
      def forget_parents
        return if @pid == Process.pid

        @flights.clear
        @pid = Process.pid
      end

      def lead(key, flight, request)
        flight.result = yield request
      rescue Error => error
        flight.result = error
        raise
      ensure
        @lock.synchronize { @flights.delete(key) }
        flight.signal.set
      end

      # Each caller gets a separate Response, because it may change the body.
      def follow(result, request)
        raise result.dup if result.is_a?(Error)

        result._for(request)
      end
    end
  end
end
