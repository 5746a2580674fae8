# frozen_string_literal: true

require_relative "../io_waker"
require_relative "call"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A thread that leads on a connection while WebSockets are open on it: their callers wait for the WebSocket's
        # own file descriptor, and cannot wait for the connection's socket at the same time.
        class ReadingThread
          include Redacted

          READS_AT_ONCE = 32
          private_constant :READS_AT_ONCE

          # @param pool [Pool]
          # @param connection [Ruby::Connection] a shared connection
          def initialize(pool, connection)
            @pool = pool
            @connection = connection
            @users = 0
          end

          # Called when a WebSocket is opened. The caller holds the connection's lock.
          def take
            start if (@users += 1) == 1
          end

          # Called when a WebSocket is closed. The caller holds the connection's lock.
          def release
            @waker.wake if (@users -= 1).zero?
          end

          private

          def start
            @waker = IOWaker.new
            @waker.driven = true
            waker = @waker
            call = Call.new(@connection.http2, waker)
            @thread = Thread.new { Ruby.interruptible { run(call, waker) } }
            @thread.name = "trunkline reader"
            @thread.report_on_exception = false
          end

          def run(call, waker)
            nil while Ruby.uninterruptible { step(call, waker) } && wait(call, waker)
          ensure
            Ruby.uninterruptible { stop(call) }
            waker.close
          end

          # @return [Boolean] whether the thread must continue
          def step(call, waker)
            http2 = @connection.http2
            goes_on = http2.synchronize do
              http2.enter(call)
              waker.clear
              now = Ruby.now
              READS_AT_ONCE.times { break unless http2.may_read?(call) && http2.read(call, now) }
              http2.write(now)
              wanted = @waker.equal?(waker) && @users.positive? && http2.why.nil?
              http2.leave(call, wanted)
              wanted
            end
            @pool.reconsider(@connection) if http2.take_state_change
            goes_on
          end

          def wait(call, waker)
            return true if call.again

            socket = call.leading ? @connection.http2.socket : nil
            reading = [waker.io, (socket unless call.events == :write)].compact
            IO.select(reading, socket && call.events != :read ? [socket] : nil)
            true
          rescue IOError # the socket was closed
            false
          end

          def stop(call)
            http2 = @connection.http2
            http2.synchronize do
              http2.enter(call)
              http2.leave(call, false)
            end
          end
        end
      end
    end
  end
end
