# frozen_string_literal: true

require_relative "socket_pair"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Wakes the thread that runs a Multi; from any thread, and from a signal handler.
      class IOWaker
        include Redacted

        attr_writer :driven

        def initialize
          @driven = false
          open
        end

        # @return [IO, nil] readable after #wake; nil: no file descriptor is left, so the caller must poll
        def io
          open unless @reader && @pid == Ruby.pid
          @reader
        end

        def wake
          @writer&.write_nonblock(".", exception: false) if @pid == Ruby.pid
        rescue IOError, SystemCallError # the IOWaker was closed
          nil
        end

        def clear
          @reader.read_nonblock(256, exception: false)
        end

        def away? = !@driven

        # @return [Array, nil] as IO.select. Under a fiber scheduler a thread does the wait, since few schedulers can
        #   wait for several IOs
        def select(reading, writing, timeout)
          return Ruby.poll(reading, writing) if timeout&.zero?
          return IO.select(reading, writing, nil, timeout) if Ruby.scheduler.nil?

          Thread.new { IO.select(reading, writing, nil, timeout) }.value
        end

        def close
          @reader&.close
          @writer&.close
        end

        private

        # A forked child opens its own. A socket pair is preferred, since a fiber scheduler may handle reads from a pipe
        # itself.
        def open
          late = @pid == Ruby.pid
          @reader = @writer = nil
          open_ends
          @pid = Ruby.pid
          wake if late # there may have been a #wake before
        rescue Errno::EMFILE, Errno::ENFILE => error
          retry if Pool.make_room

          open_later(error)
        end

        # Each call fails when it connects, with an error that names the host.
        def open_later(_error)
          @pid = Ruby.pid
        end

        def open_ends
          @reader, @writer = SocketPair.open
        end
      end
    end
  end
end
