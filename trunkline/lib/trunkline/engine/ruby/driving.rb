# frozen_string_literal: true

require "io/wait"
require_relative "dropped"
require_relative "exchange"
if RUBY_ENGINE == "jruby"
  require_relative "ending_on_jruby"
  require_relative "wait_on_jruby"
end

module Trunkline
  module Engine
    module Ruby
      # Runs an exchange: waits for its events, in a thread or in a fiber under a scheduler, and calls the program's
      # code. Used for single calls and by Multi.
      module Driving
        # Seconds between polls of several sockets under a scheduler, which can wait for only one.
        POLL_INTERVAL = 0.01
        # Seconds that a call may run without a wait before other fibers run.
        FIBER_YIELD_INTERVAL = 0.001
        private_constant :POLL_INTERVAL

        module_function

        # Steps until the exchange has a result for its caller.
        # @return [Symbol] :head, :data, :done or :failed
        def run(exchange)
          last_yield = nil
          loop do
            result = Ruby.uninterruptible { exchange.step }
            if result == :wait && !exchange.progress_due?
              wait(exchange)
            elsif handle_step(exchange, result)
              last_yield = yield_to_fibers(last_yield)
            else
              return result
            end
          end
        end

        # @param last_yield [Float, nil] when other fibers last ran
        # @return [Float, nil] the new value of last_yield; nil without a scheduler
        def yield_to_fibers(last_yield)
          return unless Ruby.scheduler
          return last_yield if last_yield && Ruby.now < last_yield + FIBER_YIELD_INTERVAL

          run_other_fibers
          Ruby.now
        end

        # @return [Boolean] whether the exchange must be stepped again
        def handle_step(exchange, result)
          report_progress(exchange) if exchange.progress_due?
          case result
          when :body_wanted then feed(exchange)
          when :hints then exchange.request._early_hints.call(exchange.early_hints.last.map { |pair| pair.map(&:dup) })
          when :collect then Dropped.collect(exchange.waits_since)
          when :wait, :progress then nil
          else return false
          end
          true
        end

        # Waits for an event after which #step can continue.
        def wait(exchange)
          timeout = exchange.due - Ruby.now
          return run_other_fibers if timeout <= 0

          case sockets = exchange.sockets
          when nil then exchange.waker.wait(timeout)
          when Array then wait_for_first_connect(exchange, sockets, timeout)
          else wait_for_socket(sockets, exchange.events, timeout)
          end
        end

        # Under a scheduler, lets other fibers run.
        def run_other_fibers
          Ruby.scheduler&.kernel_sleep(0)
        end

        EVENTS = { read: IO::READABLE, write: IO::WRITABLE, both: IO::READABLE | IO::WRITABLE }.freeze
        private_constant :EVENTS

        # @param events [:read, :write, :both]
        def wait_for_socket(socket, events, timeout)
          timeout = nil if timeout > LONG
          scheduler = Ruby.scheduler
          return scheduler.io_wait(socket, EVENTS[events], timeout) if scheduler

          return EndingOnJRuby.guarded { WaitOnJRuby.select(socket, events, timeout) } if RUBY_ENGINE == "jruby"

          case events
          when :read then socket.wait_readable(timeout)
          when :write then socket.wait_writable(timeout)
          else socket.wait(EVENTS[:both], timeout)
          end
        end

        def wait_for_first_connect(exchange, sockets, timeout)
          return exchange.waker.wait(timeout) if sockets.empty?
          return wait_for_socket(sockets.first, exchange.events, timeout) if sockets.size == 1
          return wait_for_socket(sockets.first, :write, [timeout, POLL_INTERVAL].min) if Ruby.scheduler

          IO.select(nil, sockets, nil, timeout > LONG ? nil : timeout)
        end

        def feed(exchange)
          piece = exchange.request.content.next_chunk
          return exchange.feed(nil) if piece.nil?

          piece = String.try_convert(piece) || raise(TypeError, "no implicit conversion of #{piece.class} into String")
          exchange.feed(piece) unless piece.empty? # after an empty piece the exchange asks again
        end

        def report_progress(exchange)
          bytes, over = exchange.progress
          total = exchange.request.content_length
          exchange.request.progress.call(bytes, total.negative? ? nil : total, over)
        end
      end
    end
  end
end
