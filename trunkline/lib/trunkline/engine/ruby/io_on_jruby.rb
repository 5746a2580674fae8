# frozen_string_literal: true

require "java"
require_relative "ending_on_jruby"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Waits for an IO as IO#wait_readable does, but in several threads at once: with JRuby's methods the second thread
      # waits until the first is done.
      class IOOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        WRITE = Java::JavaNioChannels::SelectionKey::OP_WRITE
        # Seconds after which an interrupt of the thread is noticed: JRuby does not interrupt this wait.
        INTERRUPTS = 0.02
        # Unused selectors by their provider. Each selector has file descriptors, so they are used again.
        SELECTORS = Hash.new { |selectors, provider| selectors[provider] = [] }
        LOCK = Mutex.new
        private_constant :READ, :WRITE, :INTERRUPTS, :SELECTORS, :LOCK

        # @param io [IO] an IO that can be waited for
        def initialize(io)
          @io = io
        end

        # @param seconds [Numeric, nil] nil: no limit
        # @return [Boolean] whether it is readable
        def wait_readable(seconds)
          return !@io.wait_readable(seconds).nil? if Ruby.scheduler

          wait(READ, seconds)
        end

        # (see #wait_readable)
        # @return [Boolean] whether it is writable
        def wait_writable(seconds)
          return !@io.wait_writable(seconds).nil? if Ruby.scheduler

          wait(WRITE, seconds)
        end

        private

        def wait(events, seconds)
          channel = @io.to_channel
          with_selector(channel.provider) do |selector|
            channel.configure_blocking(false)
            key = channel.register(selector, events)
            EndingOnJRuby.guarded { select(selector, key, seconds) }
          ensure
            key&.cancel
          end
        rescue Java::JavaNioChannels::ClosedChannelException
          true
        end

        # @return [Boolean] also true when the IO was closed: the next read or write raises
        def select(selector, key, seconds)
          due = seconds ? Ruby.now + seconds : NEVER
          loop do
            left = [due - Ruby.now, 0].max
            longest = Ruby.milliseconds([left, INTERRUPTS].min)
            found = left.zero? ? selector.select_now : selector.select(longest)
            return true if found.positive? || !key.valid?
            return false if left <= INTERRUPTS
          end
        end

        # A cancelled key is removed by the next select.
        def with_selector(provider)
          selector = LOCK.synchronize { SELECTORS[provider].pop } || provider.open_selector
          yield selector
        ensure
          if selector
            selector.select_now
            LOCK.synchronize { SELECTORS[provider] << selector }
          end
        end
      end
    end
  end
end
