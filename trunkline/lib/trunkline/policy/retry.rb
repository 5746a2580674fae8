# frozen_string_literal: true

require "securerandom"
require_relative "../errors"
require_relative "../redacted"
require_relative "../retry_after"
require_relative "budget"
require_relative "policy_options"
require_relative "state"

module Trunkline
  module Policy
    # Sends a request again after a failure that may be temporary: when the method allows it (RFC 9110 9.2.2), or the
    # server cannot have acted on the request. The wait between attempts grows with each one. A budget limits the
    # retries of all callers of an origin, so that a server that fails every request gets hardly more requests than
    # without retries.
    class Retry
      include Redacted

      IDEMPOTENT = %w[GET HEAD OPTIONS TRACE PUT DELETE].freeze
      STATUSES = [429, 502, 503, 504].freeze
      # Failures of a connection or a server that may be temporary. A limit of the caller, such as TotalTimeout, is not
      # among them.
      ERRORS = [ConnectionError, ResolveTimeout, ConnectTimeout, TLSTimeout, WriteTimeout, FirstByteTimeout,
                ReadTimeout, TruncatedBody, StreamReset].freeze
      # Permanent failures among ERRORS, which are not retried.
      PERMANENT_ERRORS = [CertificateError, EgressRefused, ForkedConnection].freeze
      # Retries that an origin may have beyond the ratio: initial at first, per_second more each second, saved up to
      # most.
      FLOOR = { initial: 10, per_second: 1.0, most: 50 }.freeze

      METHODS = PolicyOptions::Check.new(":idempotent, or an Array of methods such as [:get, :post]", lambda do |value|
        next IDEMPOTENT if value == :idempotent
        next unless value.is_a?(Array) && value.all? { |name| name.is_a?(Symbol) || name.is_a?(String) }

        value.map { |name| name.to_s.upcase.tr("_", "-") }.freeze
      end)
      STATUS_LIST = PolicyOptions::Check.new("an Array of statuses from 400 to 599", lambda do |value|
        value.dup.freeze if value.is_a?(Array) && value.all? { |one| one.is_a?(Integer) && one.between?(400, 599) }
      end)
      ERROR_LIST = PolicyOptions::Check.new("an Array of error classes of Trunkline", lambda do |value|
        value.dup.freeze if value.is_a?(Array) && value.all? { |one| one.is_a?(Class) && one <= Error }
      end)
      BACKOFF = PolicyOptions::Check.new("a Range of seconds, such as 0.1..2.0", lambda do |value|
        next unless value.is_a?(Range) && [value.begin, value.end].all? { |one| one.is_a?(Numeric) && one.real? }

        value.begin.to_f..value.end.to_f if value.begin.between?(0, value.end)
      end)
      BUDGET = PolicyOptions.any(PolicyOptions.one_of(false), PolicyOptions.number(0.0..1.0))
      OPTIONS = PolicyOptions.new(:retry,
                                  attempts: [3, PolicyOptions.integer(1..100)],
                                  statuses: [STATUSES, STATUS_LIST],
                                  errors: [ERRORS, ERROR_LIST],
                                  backoff: [0.1..2.0, BACKOFF],
                                  budget: [0.1, BUDGET],
                                  methods: [IDEMPOTENT, METHODS],
                                  max_wait: [10.0, PolicyOptions.seconds],
                                  idempotency_key: [false, PolicyOptions.boolean])
      private_constant :METHODS, :STATUS_LIST, :ERROR_LIST, :BACKOFF, :BUDGET

      # @param value [true, Hash]
      # @return [Retry]
      # @raise [InvalidRequest]
      def self.of(value)
        value.is_a?(Retry) ? value : new(OPTIONS.read(value))
      end

      # @return [Hash{String => Hash}] Budget#to_h by origin
      def self.stats
        State.all(:retry).to_h { |(label, _), budget| [label, budget.to_h] }
      end

      # @param options [Hash{Symbol => Object}] of OPTIONS
      def initialize(options)
        @attempts, @statuses, @errors, @backoff, @budget, @methods, @max_wait, @idempotency_key =
          options.values_at(*OPTIONS.names)
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response] of the last attempt
      # @raise [Error] of the last attempt
      def call(request, call, &forward)
        request = with_key(request, call) if @idempotency_key
        budget = budget_of(request)
        budget&.deposit(call.now)
        (1..).each do |number|
          result = attempt(request, &forward)
          wait = pause_after(result, request, call, number, budget)
          again = wait && pause(wait, result, request, call, number)
          return result.is_a?(Exception) ? raise(result) : result unless again

          call.reason = :retry
        end
      end

      # Decides what follows an attempt.
      #
      # @param result [Response, Error] of the attempt
      # @param number [Integer] of the attempt, from 1
      # @param budget [Budget, nil]
      # @return [Float, nil] seconds to wait before the next attempt; nil to return or raise the result
      def pause_after(result, request, call, number, budget)
        return unless number < @attempts && failed?(result) && repeatable?(request, result)

        wait = wait_of(result, call, number) or return
        left = call.left
        return if left && left <= wait
        return if budget && !budget.take(call.now)

        wait
      end

      private

      def attempt(request)
        yield request
      rescue *@errors => error # a BreakerOpen must not be raised again: see Call::Correctable
        error
      end

      # A streamed response is discarded before the wait, so that its connection can be reused. Any other response is
      # kept: it is returned if no time is left after the wait.
      #
      # @return [Boolean] whether there is time for another attempt: the wait can take longer than planned
      def pause(wait, result, request, call, number)
        call.notify(:retry, request: request, result: result, number: number, wait: wait,
                            reason: result.is_a?(Response) ? result.status : result.class.name)
        discarded = result.is_a?(Response) && request.streaming?
        result._discard if discarded
        call.sleep(wait)
        discarded || call.left.nil? || call.left.positive?
      end

      def failed?(result)
        return @statuses.include?(result.status) if result.is_a?(Response)

        @errors.any? { |one| result.is_a?(one) } && PERMANENT_ERRORS.none? { |one| result.is_a?(one) }
      end

      # @return [Boolean] whether the request may be sent again: it is idempotent, has an idempotency key, or was not
      #   processed
      def repeatable?(request, result)
        return false unless request.rewindable?
        return true if @methods.include?(request.method) || request.headers["idempotency-key"]

        result.is_a?(Error) && (result.sent == :none || result.unprocessed?)
      end

      # @return [Float, nil] seconds; nil when Retry-After exceeds max_wait:
      def wait_of(result, call, number)
        retry_after = RetryAfter.seconds(result, Time.now) if result.is_a?(Response)
        return retry_after <= @max_wait ? retry_after : nil if retry_after

        call.rand * [@backoff.end, @backoff.begin * (2**(number - 1))].min
      end

      # Adds the key of the call, so that requests after a redirect have the same key.
      def with_key(request, call)
        return request if IDEMPOTENT.include?(request.method) || request.headers["idempotency-key"]

        Policy.add_fields(request, [["Idempotency-Key", call.key]], call.builder)
      end

      def budget_of(request)
        return unless @budget

        State.of(:retry, [request.uri.label, @budget]) { Budget.new(ratio: @budget, **FLOOR) }
      end
    end
  end
end
