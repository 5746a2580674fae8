# frozen_string_literal: true

require "socket"
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

        # @return [IO] readable after #wake
        def io
          open unless @pid == Ruby.pid
          @reader
        end

        def wake
          @writer.write_nonblock(".", exception: false) if @pid == Ruby.pid
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
          return IO.select(reading, writing, nil, timeout) if Ruby.scheduler.nil? || timeout&.zero?

          Thread.new { IO.select(reading, writing, nil, timeout) }.value
        end

        def close
          @reader.close
          @writer.close
        end

        private

        # A forked child opens its own. A socket pair is preferred, since a fiber scheduler may handle reads from a pipe
        # itself.
        def open
          open_ends
          @pid = Ruby.pid
        rescue Errno::EMFILE, Errno::ENFILE => error
          retry if Pool.make_room

          Ruby.raise_failure(Failure.of_system(:CONNECT, error, phase: :queue), nil)
        end

        def open_ends
          @reader, @writer = defined?(UNIXSocket) ? UNIXSocket.pair : IO.pipe
        end
      end
    end
  end
end
