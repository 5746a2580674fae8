# frozen_string_literal: true

require_relative "lab"

module Bench
  # A thread that sleeps one millisecond at a time: its delay in waking up is the time for which other threads kept it
  # from running.
  module Ticker
    INTERVAL = 0.001

    # @return [Float] seconds, the largest delay of a tick while the block ran
    def self.lateness
      worst = 0.0
      done = false
      thread = Thread.new do
        until done
          due = Clock.now + INTERVAL
          sleep INTERVAL
          worst = [worst, Clock.now - due].max
        end
      end
      yield
      done = true
      thread.join
      worst
    end
  end
end
