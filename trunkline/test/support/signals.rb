# frozen_string_literal: true

# Calls a block in signal handlers, a number of times.
module Signals
  # Whether a signal handler runs in a separate thread, without interrupting another.
  OWN_THREAD = RUBY_ENGINE == "jruby"

  # @return [Array] the block's results in `count` signal handlers, while the main thread calls `meanwhile`
  def in_handlers(count, meanwhile)
    results = []
    previous = trap(:USR1) { results << yield }
    sender = Thread.new { count.times { |number| Process.kill(:USR1, Process.pid) && wait_for(results, number + 1) } }
    meanwhile.call while sender.alive?
    sender.join
    results
  ensure
    sender&.kill&.join
    trap(:USR1, previous)
  end

  private

  def wait_for(results, count)
    deadline = Trunkline::Engine.now + 20
    sleep 0.001 until results.size >= count || Trunkline::Engine.now > deadline
  end
end
