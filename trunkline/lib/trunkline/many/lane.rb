# frozen_string_literal: true

require "time"
require_relative "../limiter"
require_relative "../limiter/fixed"
require_relative "../limiter/memory"

module Trunkline
  module Many
    # The way to one origin: those who wait, and the limiter that says how many may fly.
    class Lane
      MEMORY = Limiter::Memory.new
      # A host that does not answer at all is not asked by fewer than this at a time: that would only take longer.
      FEWEST_AT_TIMEOUTS = 4

      # An origin that ended nothing for so many seconds is no reason not to look for requests to others.
      STALL = 0.25

      attr_reader :limiter, :waiting

      # @param origin [String]
      # @param settings [Settings]
      def initialize(origin, settings, now)
        @origin = origin
        @waiting = []
        @moved = now
        @settings = settings
        @limiter = settings.concurrency == :auto ? learner(now) : Limiter::Fixed.new(settings.concurrency)
        @known = @limiter.generation
        @fixed = @limiter.is_a?(Limiter::Fixed)
      end

      # @return [Boolean] whether neither waits nor flies anyone
      def empty?
        @waiting.empty? && @limiter.in_flight.zero?
      end

      # @return [Boolean] whether one more may start, or others must be looked for
      def open?(now)
        @limiter.ready?(now) || now - @moved > STALL
      end

      # @param result [Response, Exception]
      # @param status [Integer, nil] of a Response
      def landed(now, order, result, status)
        @moved = now
        return @limiter.in_flight -= 1 if @fixed # learns nothing

        case status
        when nil then failed(now, result)
        when 429 then @limiter.limited(now, retry_after(result))
        when 503 then @limiter.pressed(now, "503", retry_after(result))
        else @limiter.answered(now, order.started, order.generation)
        end
        return unless order.generation > @known

        remember(now)
        @limiter.maximum = @settings.maximum_of_streams if status && result.http_version == "2"
      end

      def remember(now)
        @known = @limiter.generation
        return if @fixed

        MEMORY.keep(@origin, @limiter.to_h, now)
      end

      private

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
        what && @limiter.limit > FEWEST_AT_TIMEOUTS ? @limiter.pressed(now, what) : @limiter.dropped
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
