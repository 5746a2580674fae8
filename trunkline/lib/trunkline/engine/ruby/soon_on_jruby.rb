# frozen_string_literal: true

require "java"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Waits for one socket: to read it, at first a little by a selector of java.nio with which it stays registered.
      # IO.select registers it anew each time, and takes thrice as long.
      class SoonOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        PROVIDER = Java::JavaNioChannelsSpi::SelectorProvider.provider
        # Milliseconds: most answers are there by then. An interrupt of the thread is seen after them, since JRuby
        # knows nothing of its wait.
        LONGEST = 20
        # The same in seconds.
        WAITED = LONGEST / 1000.0
        # Selectors that no wait uses and that are kept: each has descriptors.
        MOST = 16
        private_constant :READ, :PROVIDER, :LONGEST, :WAITED, :MOST

        @idle = {}.compare_by_identity # by the socket that was waited for last
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
            @lock.synchronize { @idle.delete(socket) }&.close
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
            over = @lock.synchronize do
              @idle[one.socket] = one
              @idle.shift.last if @idle.size > MOST
            end
            over&.close
          end
        end

        # @return [IO]
        attr_reader :socket

        def initialize
          @selector = PROVIDER.open_selector
          @ready = @selector.selected_keys
        end

        # From now on it waits for this one.
        def know(socket)
          @socket = socket
          if @key
            @key.cancel
            @selector.select_now # which forgets it
          end
          channel = socket.to_channel
          channel.configure_blocking(false)
          @key = channel.register(@selector, READ)
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
