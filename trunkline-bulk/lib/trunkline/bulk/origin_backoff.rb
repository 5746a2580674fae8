# frozen_string_literal: true

require "trunkline"

module Trunkline
  class Bulk
    # Holds back the items of origins that cannot be reached, or that have sent Retry-After, while other origins
    # continue. When an origin's pause is over, one of its items is tried; the others follow when that item has a
    # response.
    #
    # @api private
    class OriginBackoff
      ERRORS = [ConnectError, ConnectTimeout, ResolveError, ResolveTimeout, BreakerOpen].freeze
      FIRST = 1.0
      LONGEST = 30.0
      private_constant :ERRORS, :FIRST, :LONGEST

      # The statuses of responses that may have Retry-After.
      BUSY = [429, 503].freeze
      LEAST_BUSY = BUSY.min

      # The maximum number of items that are held; further ones fail.
      MOST = 100_000
      private_constant :MOST

      PausedOrigin = Struct.new(:waiting, :until, :pause, :trying)

      # @param seconds [Numeric] the total time for which an item may be held
      def initialize(seconds)
        @seconds = seconds
        @origins = {}
        @failed_origins = {}
        @ready = []
        @size = 0
        @unused = true
      end

      # @return [Boolean] whether no origin is paused or has failed, and no item waits here; called for each item
      def unused? = @unused

      # @param origin [String, nil]
      # @return [Boolean] whether items of the origin must be passed to #hold
      def paused?(origin) = @origins.key?(origin)

      # @param result [Response, Error]
      # @return [Float, nil] seconds for which the origin must be paused; nil if it has answered
      def pause_of(result)
        if result.is_a?(Response)
          return unless BUSY.include?(result.status)

          # At least the pause after an error: a server may send 0, or a past time, every time.
          seconds = RetryAfter.seconds(result)
          seconds && [seconds, FIRST].max
        elsif ERRORS.any? { |error| result.is_a?(error) }
          FIRST
        end
      end

      # @param entry [Entry] of an origin that has answered
      # @return [void]
      def origin_responded(entry)
        @failed_origins.delete(entry.origin)
        release(entry.origin)
        update_unused
      end

      # @param entry [Entry] of an origin that could not be reached, or that has sent Retry-After
      # @param pause [Float] seconds
      # @return [Boolean] whether the entry is held; #next_entry returns it later
      def defer?(entry, pause)
        return false if @failed_origins.key?(entry.origin) || @size >= MOST

        entry.held_since ||= now
        @unused = false
        return give_up(entry.origin) && false if now - entry.held_since >= @seconds

        extend_pause(entry.origin, [pause, entry.held_since + @seconds - now].min)
        hold(entry)
        true
      end

      # @param entry [Entry] of a paused origin
      # @return [void]
      def hold(entry)
        entry.held_since ||= now
        @origins[entry.origin].waiting << entry
        @size += 1
      end

      # @return [Entry, nil] an entry that may be tried now
      def next_entry
        return if @unused
        return @ready.shift.tap { update_unused } unless @ready.empty?

        paused = @origins.each_value.find { |one| !one.trying && !one.waiting.empty? && one.until <= now } or return
        paused.trying = true
        @size -= 1
        paused.waiting.shift
      end

      # @return [Float, nil] seconds until #next_entry may return an entry; nil if that depends on requests in flight
      def wait
        times = @origins.each_value.filter_map { |paused| paused.until unless paused.trying || paused.waiting.empty? }
        [times.min - now, 0.0].max unless times.empty?
      end

      # @return [Boolean] whether nothing is held
      def empty? = @size.zero? && @ready.empty?

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def update_unused
        @unused = @origins.empty? && @failed_origins.empty? && @ready.empty?
      end

      # The result of a request that was sent before the pause began does not change the pause.
      def extend_pause(origin, pause)
        paused = @origins[origin] ||= PausedOrigin.new([], nil, nil, false)
        return if paused.until && !paused.trying

        paused.pause = [paused.pause ? [paused.pause * 2, LONGEST].min : 0, pause].max
        paused.until = now + paused.pause
        paused.trying = false
      end

      def release(origin)
        paused = @origins.delete(origin)
        return if paused.nil?

        @size -= paused.waiting.size
        @ready.concat(paused.waiting)
      end

      # From now on each item of the origin is tried only once, until the origin answers.
      def give_up(origin)
        @failed_origins[origin] = true
        release(origin)
      end
    end
  end
end
