# frozen_string_literal: true

require_relative "../redacted"
require_relative "budget"
require_relative "hedge/quantile"
require_relative "policy_options"
require_relative "state"

module Trunkline
  module Policy
    # Sends a safe request a second time, over another connection, when its response is later than most responses of its
    # origin, and takes the first response. A budget limits the number of second requests.
    class Hedge
      include Redacted

      SAFE = %w[GET HEAD OPTIONS TRACE].freeze
      # Responses that must have been measured before a quantile is used.
      ENOUGH = 20
      # Maximum number of hedges that can be saved up.
      MOST = 10
      QUANTILE = /\Ap(\d{2}(?:\.\d+)?)\z/
      AFTER = PolicyOptions::Check.new("a quantile from :p50 to :p99.9, or seconds", lambda do |value|
        next value.to_f if value.is_a?(Numeric) && value.real? && value.positive? && value.to_f.finite?

        text = QUANTILE.match(value.to_s)&.[](1) if value.is_a?(Symbol)
        value if text&.to_f&.between?(50, 99.99)
      end)
      OPTIONS = PolicyOptions.new(:hedge, after: [:p95, AFTER], max: [0.05, PolicyOptions.number(0.0..1.0)])
      private_constant :AFTER

      # State of one origin: a histogram of its response times, and the budget of second requests.
      OriginState = Struct.new(:latency, :budget) { include Redacted }

      # @param value [true, Hash]
      # @return [Hedge]
      # @raise [InvalidRequest]
      def self.of(value)
        value.is_a?(Hedge) ? value : new(**OPTIONS.read(value))
      end

      # @return [Hash{String => Hash}] by origin: its budget, and the quantiles of its response times in seconds
      def self.stats
        State.all(:hedge).to_h { |(label, _), state| [label, state.budget.to_h.merge(state.latency.to_h)] }
      end

      # @param after [Symbol, Float] a quantile, or seconds
      # @param max [Float] second requests allowed per request
      def initialize(after:, max:)
        @seconds = after if after.is_a?(Float)
        @quantile = QUANTILE.match(after)[1].to_f / 100 if after.is_a?(Symbol)
        @max = max
        freeze
      end

      # @param rate [Rate, nil]
      # @return [Hedge] whose second requests are sent only when the rate limit lets them start at once
      def within(rate)
        return self if rate.nil?

        dup.tap { |hedge| hedge.instance_exec { @rate = rate } }.freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      # @raise [Error]
      def call(request, call)
        return yield(request) if !SAFE.include?(request.method) || request.content? || !call.races?(request)

        state = state_of(request)
        state.budget.deposit(call.now)
        began = call.now
        response = first_response(request, call, state) { yield request }
        now = call.now
        state.latency.add(head_arrived_at(response, now) - began, now)
        response
      end

      # @param state [OriginState]
      # @param now [Float] monotonic seconds
      # @return [Float, nil] seconds after which a second request is sent; nil while too few responses were measured
      def after(state, now)
        @seconds || (state.latency.quantile(@quantile, now) if state.latency.count(now) >= ENOUGH)
      end

      # @param request [Request]
      # @return [OriginState] state of its origin
      def state_of(request)
        State.of(:hedge, [request.uri.label, @max]) do
          OriginState.new(Quantile.new, Budget.new(ratio: @max, most: MOST))
        end
      end

      private

      # @return [Float] monotonic seconds, when the response arrived; for a streamed one, whose body may take hours, its
      #   first byte
      def head_arrived_at(response, now)
        (response._first_byte_at if response.request.streaming?) || now
      end

      def first_response(request, call, state)
        seconds = after(state, call.now) or return yield

        call.race(request, seconds) { request if allowed?(request, call.now, state.budget) }
      end

      def allowed?(request, now, budget)
        @rate ? @rate.start_now?(request, now) { budget.take(now) } : budget.take(now)
      end
    end
  end
end
