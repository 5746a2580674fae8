# frozen_string_literal: true

require "time"
require_relative "../limiter"
require_relative "../limiter/memory"
require_relative "../redacted"

module Trunkline
  module Many
    # The way to one origin: those who wait, how many fly, and how many may, which is for a limiter to say. Of a number
    # that the caller asked for there is nothing to say before the origin refuses something.
    class Lane
      include Redacted

      MEMORY = Limiter::Memory.new
      # A host that does not answer at all is not asked by fewer than this at a time: that would only take longer.
      FEWEST_AT_TIMEOUTS = 4

      # An origin that ended nothing for so many seconds is no reason not to look for requests to others.
      STALL = 0.25

      # @return [Array<Order>] who may not fly yet
      attr_reader :waiting
      # @return [Integer] how many fly
      attr_reader :in_flight

      # @param origin [String]
      # @param settings [Settings]
      def initialize(origin, settings, now)
        @origin = origin
        @waiting = []
        @in_flight = 0
        @moved = now
        @settings = settings
        @fixed = settings.concurrency unless settings.concurrency == :auto
        return if @fixed

        @limiter = learner(now)
        @known = @limiter.generation
      end

      # @return [Integer] how many may fly
      def limit
        @fixed || @limiter.limit
      end

      # @return [Boolean] whether neither waits nor flies anyone
      def empty?
        @waiting.empty? && @in_flight.zero?
      end

      # @return [Boolean] whether one more may start
      def ready?(now)
        @limiter ? @limiter.ready?(now) : @in_flight < @fixed
      end

      # @return [Boolean] whether one more may start, or others must be looked for
      def open?(now)
        ready?(now) || now - @moved > STALL
      end

      # @return [Float, nil] seconds until one more may start; nil when that takes an answer
      def wait(now)
        return @limiter.wait(now) if @limiter

        0.0 if @in_flight < @fixed
      end

      # @param order [Order] which notes where it flies
      def start(order, now)
        @in_flight += 1
        order.lane = self
        order.started = now
        order.generation = @limiter.start(now) if @limiter
      end

      # One ended that tells nothing: it was cancelled.
      def on_ignore
        @in_flight -= 1
        @limiter&.on_ignore
      end

      # @param result [Response, Exception]
      def landed(now, order, result)
        @moved = now
        @in_flight -= 1
        return unless @limiter || refused?(result)

        @limiter ||= Limiter.new(now, fixed: @fixed, in_flight: @in_flight + 1)
        learn(now, order, result)
      end

      # Of a number that was asked for there is nothing to remember.
      def remember(now)
        return if @fixed

        @known = @limiter.generation
        MEMORY.keep(@origin, @limiter.to_h, now)
      end

      private

      def refused?(result)
        return true unless result.is_a?(Response)

        status = result.status
        status == 503 || status == 429 # rubocop:disable Style/MultipleComparison -- an Array for each answer
      end

      def learn(now, order, result)
        status = result.status if result.is_a?(Response)
        case status
        when nil then failed(now, result)
        when 429 then @limiter.on_rate_limit(now, retry_after(result))
        when 503 then @limiter.on_overload(now, "503", retry_after(result))
        else @limiter.on_success(now, order.started, order.generation)
        end
        return if @fixed || order.generation <= @known

        remember(now)
        @limiter.maximum = @settings.maximum_of_streams if status && result.http_version == "2"
      end

      def learner(now)
        facts = MEMORY.recall(@origin, now)
        Limiter.new(now, maximum: @settings.maximum, remembered: facts && facts[:limit], rate: facts && facts[:rate])
      end

      def failed(now, error)
        what = case error
               when QueueTimeout then nil
               when ConnectError then "no connection"
               when TimeoutError then "a timeout"
               end
        what && @limiter.limit > FEWEST_AT_TIMEOUTS ? @limiter.on_overload(now, what) : @limiter.on_ignore
      end

      # RFC 9110 10.2.3: seconds, or a date.
      # @return [Float, nil]
      def retry_after(response)
        text = response["retry-after"] or return
        return text.to_f if text.match?(/\A\d{1,9}\z/)

        Time.httpdate(text) - Time.now
      rescue ArgumentError
        nil
      end
    end
  end
end
