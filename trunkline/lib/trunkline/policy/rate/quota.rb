# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../retry_after"
require_relative "fields"
require_relative "window"

module Trunkline
  module Policy
    class Rate
      # The limits that a server has sent for its requests. Starts are numbered and begin in that order. The requests in
      # flight are subtracted from the remaining starts that a response reports: the server may count them after it has
      # computed that number, whatever the order in which they were sent. Safe for use by several threads; no method
      # waits.
      class Quota
        # Statuses whose Retry-After applies to all requests.
        BUSY = [429, 503].freeze
        # Seconds: a request that began this long before an answered one has been counted by the server.
        COUNTED = 1.0
        private_constant :BUSY, :COUNTED

        def initialize
          @windows = {}
          @started = 0 # number of the last reserved slot
          @waiting = {} # reserved slots whose time has not come, by number
          @in_flight = {} # start times of requests without a response, by number
          @paused_until = -Float::INFINITY
          @lock = Lock.new
        end

        # @param now [Float] monotonic seconds
        # @param patience [Float] seconds
        # @return [Array(Float, Integer)] seconds until the slot, and the slot; nil for a slot that would come too late
        def reserve(now, patience)
          @lock.synchronize do
            slot = @started + 1
            wait = seconds_until(slot, now)
            next [wait, nil] if wait > patience

            @started = slot
            wait.zero? ? begin_at(slot, now) : @waiting[slot] = true
            [wait, slot]
          end
        end

        # @param slot [Integer]
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until the slot, by the limits known now
        def wait(slot, now)
          @lock.synchronize do
            seconds_until(slot, now).tap { |wait| begin_at(slot, now) if wait.zero? }
          end
        end

        # Cancels a slot that no request uses; the last one can be reserved again.
        # @return [void]
        def cancel(slot)
          @lock.synchronize do
            @waiting.delete(slot)
            @in_flight.delete(slot)
            @started -= 1 if @started == slot
          end
        end

        # @param now [Float] monotonic seconds
        # @return [Float] seconds until one more request could start
        def delay(now)
          @lock.synchronize { seconds_until(@started + 1, now) }
        end

        # @param slot [Integer] of the request
        # @param response [Response]
        # @param now [Float] monotonic seconds
        # @return [void]
        def learn(slot, response, now)
          limits = Fields.read(response)
          pause = BUSY.include?(response.status) && RetryAfter.seconds(response)
          return if limits.empty? && !pause

          @lock.synchronize do
            learn_windows(limits, slot, now) unless limits.empty?
            @paused_until = [@paused_until, now + pause].max if pause
          end
        end

        # @param now [Float] monotonic seconds
        # @return [String] the beginning of a sentence of an error message
        def reason(now)
          now < @paused_until ? "the server said so by Retry-After" : "the server's limit is used up"
        end

        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Object}] wait: seconds until one more request could start; windows: Window#to_h by
        #   name
        def to_h(now)
          @lock.synchronize do
            wait = seconds_until(@started + 1, now)
            { wait: wait, windows: @windows.transform_values { |window| window.to_h(@started, now) } }
          end
        end

        # Counts the request as taken if no response has reported it, since the server has counted it.
        # @param slot [Integer]
        # @return [void]
        def ended(slot)
          @lock.synchronize { @windows.each_value(&:take) if @in_flight.delete(slot) }
        end

        private

        # Waiting slots with lower numbers are due as well, and begin in a moment.
        def begin_at(slot, now)
          @in_flight[@waiting.shift.first] = now while @waiting.any? && first_waiting <= slot
          @in_flight[slot] = now
        end

        # A limit that the server does not send any more is removed when its period is over.
        def learn_windows(limits, slot, now)
          remove_answered(slot)
          limits.each { |one| (@windows[one.name] ||= Window.new).learn(one, slot, begun, @in_flight.size, now) }
          @windows.delete_if { |name, window| window.over?(now) && limits.none? { |one| one.name == name } }
        end

        def remove_answered(slot)
          began = @in_flight.delete(slot) or return
          @in_flight.shift while @in_flight.any? && @in_flight.first.last < began - COUNTED
        end

        def first_waiting = @waiting.first.first

        # @return [Integer] the highest number below all waiting slots
        def begun = @waiting.empty? ? @started : first_waiting - 1

        def seconds_until(slot, now)
          wait = @paused_until - now
          @windows.each_value { |window| wait = [wait, window.seconds_until(slot, begun, now)].max }
          [wait, 0.0].max
        end
      end
    end
  end
end
