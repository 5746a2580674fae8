# frozen_string_literal: true

require_relative "run_queue"

# How late this machine is just now: a thread that wakes every few milliseconds notes by how much it overslept. What is
# asserted of a real time allows for that, so that a busy machine is not taken for a slow client.
module Metronome
  PERIOD = 0.005
  # Beats kept: some twenty seconds of them.
  KEPT = 4000

  class << self
    # Runs until the process ends; begun before the first test counts the threads.
    def start
      return if @thread&.alive?

      @beats = []
      @lock = Mutex.new # of @beats: threads of JRuby run at the same time
      @last = now
      @run_queue = RunQueue.new if RUBY_ENGINE == "jruby"
      @thread = Thread.new { loop { beat } }
      @thread.name = "metronome"
    end

    # @param seconds [Float] how far to look back
    # @return [Float] by how many seconds the beats of that time were late in all, the one that is due among them: what
    #   is done in several steps, and by several threads, may be kept waiting at each
    def lateness(seconds)
      to = now
      from = to - seconds - PERIOD
      beats = @lock.synchronize { @beats.dup }
      lates = beats.reverse_each.take_while { |at, _| at >= from }.map(&:last) << (to - @last - PERIOD)
      lates.select { |late| late > PERIOD }.sum(@run_queue ? @run_queue.waited_between(from, to) : 0.0)
    end

    private

    def beat
      sleep PERIOD
      at = now
      @lock.synchronize do
        @beats << [at, at - @last - PERIOD]
        @beats.shift if @beats.size > KEPT
      end
      @last = at
      @run_queue&.beat(at)
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
