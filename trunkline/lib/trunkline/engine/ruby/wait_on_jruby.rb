# frozen_string_literal: true

require "java"
require_relative "reaper"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Waits for one socket: to read it, at first a little by a selector of java.nio with which it stays registered.
      # IO.select registers it anew each time, and takes three times as long.
      class WaitOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        PROVIDER = Java::JavaNioChannelsSpi::SelectorProvider.provider
        # Milliseconds: most answers are there by then. An interrupt of the thread is seen after them, since JRuby
        # knows nothing of its wait.
        LONGEST = 20
        # The same in seconds.
        WAITED = LONGEST / 1000.0
        # How many selectors that no wait uses are kept, and for how many seconds: each has descriptors, and the socket
        # of a client that was forgotten cannot be collected before.
        MOST = 16
        KEPT = 1.0
        private_constant :READ, :PROVIDER, :LONGEST, :WAITED, :MOST, :KEPT

        # By the socket that was waited for last, or by themselves; the one that was idle longest first.
        @idle = {}.compare_by_identity
        @lock = Mutex.new

        class << self
          # As IO.select; JRuby's wait_readable keeps other threads from writing to the socket until it is over.
          # @param events [:read, :write, :both]
          # @param timeout [Numeric, nil] seconds; nil: without end
          # @return [void]
          def select(socket, events, timeout)
            if events == :read
              came = readable?(socket, timeout)
              timeout -= WAITED if timeout && came == false
              return if came || (timeout && timeout <= 0)
            end
            IO.select(events == :write ? nil : [socket], events == :read ? nil : [socket], nil, timeout)
          end

          # To be called when it was closed: its descriptor is until a selector that knows it has forgotten it.
          def closed(socket)
            one = @lock.synchronize { @idle.delete(socket) } or return
            one.forget
            give_back(one)
          end

          # Closes selectors whose time is over. @return [Float] when the next one's is
          def reap(now)
            over = []
            due = @lock.synchronize do
              over << @idle.shift.last while @idle.any? && @idle.first.last.kept_until <= now
              @idle.empty? ? NEVER : @idle.first.last.kept_until
            end
            over.each(&:close)
            due
          end

          private

          # @return [Boolean, nil] whether it can be read; nil: it cannot be waited for so
          def readable?(socket, seconds)
            Ruby.uninterruptible do
              one = @lock.synchronize { @idle.delete(socket) } || another(socket)
              one&.wait(seconds).tap { give_back(one) if one }
            end
          end

          def another(socket)
            return unless socket.to_channel.provider == PROVIDER

            _, one = @lock.synchronize { @idle.shift }
            one ||= new
            one.know(socket)
            one
          rescue Java::JavaIo::IOException, IOError # no descriptor is left, or it was closed
            one&.close
            nil
          end

          def give_back(one)
            one.kept_until = Ruby.now + KEPT
            over = @lock.synchronize do
              @idle[one.socket || one] = one
              @idle.shift.last if @idle.size > MOST
            end
            over&.close
            Reaper.expect(one.kept_until)
          end
        end

        # @return [IO, nil]
        attr_reader :socket
        attr_accessor :kept_until

        def initialize
          @selector = PROVIDER.open_selector
          @ready = @selector.selected_keys
        end

        # From now on it waits for this one.
        def know(socket)
          forget if @socket
          channel = socket.to_channel
          channel.configure_blocking(false)
          @key = channel.register(@selector, READ)
          @socket = socket
        end

        # A selector forgets what was cancelled in its next select.
        def forget
          @socket = nil
          @key.cancel
          @selector.select_now
        end

        # @return [Boolean]
        def wait(seconds)
          found = @selector.select(seconds && seconds < WAITED ? (seconds * 1000).ceil : LONGEST)
          return !@key.valid? unless found.positive? # it was closed

          @ready.clear
          true
        end

        def close = @selector.close
      end
    end
  end
end
