# frozen_string_literal: true

require_relative "../../redacted"
require_relative "io_waker"

module Trunkline
  module Engine
    module Ruby
      # The sockets that the exchanges of a Multi wait for, and the Multi's IOWaker. WatchOnJRuby has the same methods.
      class Watch
        include Redacted

        # Seconds between polls while the waker has no file descriptor.
        POLL_INTERVAL = 0.01
        private_constant :POLL_INTERVAL

        # @return [IOWaker]
        attr_reader :waker

        def initialize
          @waker = IOWaker.new
          @reading = {}.compare_by_identity
          @writing = {}.compare_by_identity
        end

        # @param entry [Object] the only entry that waits for the socket
        # @param events [:read, :write, :both]
        # @return [void]
        def add(entry, socket, events)
          @reading[socket] = entry unless events == :write
          @writing[socket] = entry unless events == :read
        end

        # @return [void]
        def remove(entry, socket)
          @reading.delete(socket) if @reading[socket].equal?(entry)
          @writing.delete(socket) if @writing[socket].equal?(entry)
        end

        # @param others [Array<IO>] sockets to wait for in this call only, until they are writable
        # @param timeout [Numeric, nil] seconds; nil: no limit
        # @yield [entry] each entry whose socket is ready, once; twice if it waits for both events
        # @return [Array<IO>] the other sockets that are ready
        def wait(others, timeout)
          reading = @reading.keys
          waker = @waker.io
          waker ? reading << waker : timeout = [timeout, POLL_INTERVAL].compact.min
          reading, writing = @waker.select(reading, @writing.keys.concat(others), timeout)
          return [] if reading.nil?

          @waker.clear if waker && reading.delete(waker)
          reading.each { |socket| yield @reading[socket] }
          writing.each { |socket| @writing.key?(socket) && yield(@writing[socket]) }
          others & writing
        end
      end
    end
  end
end
