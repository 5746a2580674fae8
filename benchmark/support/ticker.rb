# frozen_string_literal: true

require_relative "lab"

module Bench
  # A thread that sleeps one millisecond at a time: how late it wakes up is how long others kept it from running.
  module Ticker
    INTERVAL = 0.001

    # @return [Float] seconds, the latest tick while the block ran
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
