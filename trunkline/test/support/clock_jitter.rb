# frozen_string_literal: true

require_relative "run_queue"

# Measures how late this machine is: a thread that wakes up every few milliseconds records by how much it overslept.
# Assertions about real time add this, so that a busy machine is not mistaken for a slow client.
module ClockJitter
  PERIOD = 0.005
  # The number of beats that are kept: about twenty seconds.
  KEPT = 4000

  class << self
    # Starts the thread, which runs until the process ends; started before the first test counts threads.
    def start
      return if @thread&.alive?

      @beats = []
      @lock = Mutex.new # protects @beats: threads of JRuby run in parallel
      @last = now
      @run_queue = RunQueue.new if RUBY_ENGINE == "jruby"
      @thread = Thread.new { loop { beat } }
      @thread.name = "clock_jitter"
    end

    # @param seconds [Float] how far to look back
    # @return [Float] the total delay in seconds of the beats of that time, including the one that is due: work in
    #   several steps, and by several threads, may be delayed at each
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
