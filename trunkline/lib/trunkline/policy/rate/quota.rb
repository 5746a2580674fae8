# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../retry_after"
require_relative "fields"
require_relative "window"

module Trunkline
  module Policy
    class Rate
      # What a server has told of the requests that it still takes. Starts are numbered: an answer tells what the server
      # had left at that one, and those with higher numbers have to be taken off. Safe for use by several threads;
      # nothing waits.
      class Quota
        # Statuses whose Retry-After holds for all requests.
        BUSY = [429, 503].freeze
        private_constant :BUSY

        def initialize
          @windows = {}
          @started = 0
          @paused_until = -Float::INFINITY
          @lock = Lock.new
        end

        # @param now [Float] monotonic seconds
        # @param patience [Float] seconds
        # @return [Array(Float, Integer)] seconds until the slot, and the slot; nil for a slot that would come too late
        def reserve(now, patience)
          @lock.synchronize do
            wait = seconds_until(@started + 1, now)
            [wait, (@started += 1 if wait <= patience)]
          end
        end

        # @param slot [Integer]
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until the slot, by what is known now
        def wait(slot, now)
          @lock.synchronize { seconds_until(slot, now) }
        end

        # Gives back a slot that nobody starts in: the last can be given to another.
        # @return [void]
        def cancel(slot)
          @lock.synchronize { @started -= 1 if @started == slot }
        end

        # @param now [Float] monotonic seconds
        # @return [Float] seconds until one more might start
        def delay(now)
          @lock.synchronize { seconds_until(@started + 1, now) }
        end

        # @param slot [Integer] of the request
        # @param response [Response]
        # @param now [Float] monotonic seconds
        # @return [void]
        def learn(slot, response, now)
          told = Fields.read(response)
          pause = BUSY.include?(response.status) && RetryAfter.seconds(response)
          return if told.empty? && !pause

          @lock.synchronize do
            learn_windows(told, slot, now) unless told.empty?
            @paused_until = [@paused_until, now + pause].max if pause
          end
        end

        # @param now [Float] monotonic seconds
        # @return [String] the beginning of a sentence
        def reason(now)
          now < @paused_until ? "the server said so by Retry-After" : "the server's limit is used up"
        end

        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Object}] wait: seconds until one more might start; windows: by name what Window#to_h
        #   tells
        def to_h(now)
          @lock.synchronize do
            wait = seconds_until(@started + 1, now)
            { wait: wait, windows: @windows.transform_values { |window| window.to_h(@started, now) } }
          end
        end

        # Answers tell; the end of a request alone does not.
        def ended(_slot); end

        private

        # A limit that the server tells of no more is forgotten when its time is over.
        def learn_windows(told, slot, now)
          told.each { |one| (@windows[one.name] ||= Window.new).learn(one, slot, now) }
          @windows.delete_if { |name, window| window.over?(now) && told.none? { |one| one.name == name } }
        end

        def seconds_until(slot, now)
          wait = @paused_until - now
          @windows.each_value { |window| wait = [wait, window.seconds_until(slot, @started, now)].max }
          [wait, 0.0].max
        end
      end
    end
  end
end
