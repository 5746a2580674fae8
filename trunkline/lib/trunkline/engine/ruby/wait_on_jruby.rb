# frozen_string_literal: true

require "java"
require_relative "reaper"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Waits for one socket. To read, it first waits a short time by a java.nio selector, with which the socket stays
      # registered: IO.select registers it for each wait, and takes three times as long.
      class WaitOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        PROVIDER = Java::JavaNioChannelsSpi::SelectorProvider.provider
        # Milliseconds within which most responses arrive. An interrupt of the thread is noticed after them, since JRuby
        # does not interrupt this wait.
        LONGEST = 20
        # LONGEST in seconds.
        WAITED = LONGEST / 1000.0
        # How many unused selectors are kept, and for how many seconds: each has file descriptors, and the socket of an
        # abandoned client cannot be garbage collected before its selector is closed.
        MOST = 16
        KEPT = 1.0
        private_constant :READ, :PROVIDER, :LONGEST, :WAITED, :MOST, :KEPT

        # Unused selectors by the socket that each waited for last, or else by themselves; the one that was unused
        # longest comes first.
        @idle = {}.compare_by_identity
        @lock = Mutex.new

        class << self
          # Works as IO.select does; JRuby's wait_readable blocks writes by other threads to the socket until it
          # returns.
          # @param events [:read, :write, :both]
          # @param timeout [Numeric, nil] seconds; nil: no limit
          # @return [void]
          def select(socket, events, timeout)
            if events == :read
              came = readable?(socket, timeout)
              timeout -= WAITED if timeout && came == false
              return if came || (timeout && timeout <= 0)
            end
            IO.select(events == :write ? nil : [socket], events == :read ? nil : [socket], nil, timeout)
          end

          # Must be called when the socket was closed: its file descriptor stays open until the selector has removed it.
          def closed(socket)
            one = @lock.synchronize { @idle.delete(socket) } or return
            one.forget
            give_back(one)
          end

          # Closes expired selectors. @return [Float] when the next one expires
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

          # @return [Boolean, nil] whether the socket is readable; nil: no selector can wait for it
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
          rescue Java::JavaIo::IOException, IOError # no file descriptor is left, or the socket was closed
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

        # Registers the socket that it waits for from now on.
        def know(socket)
          forget if @socket
          channel = socket.to_channel
          channel.configure_blocking(false)
          @key = channel.register(@selector, READ)
          @socket = socket
        end

        # A selector removes a cancelled key in its next select.
        def forget
          @socket = nil
          @key.cancel
          @selector.select_now
        end

        # @return [Boolean]
        def wait(seconds)
          found = @selector.select(seconds && seconds < WAITED ? Ruby.milliseconds(seconds) : LONGEST)
          return !@key.valid? unless found.positive? # true if the socket was closed

          @ready.clear
          true
        end

        def close = @selector.close
      end
    end
  end
end
