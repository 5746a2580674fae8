# frozen_string_literal: true

require_relative "gc_level"
require_relative "stop_at_exit"

# Stops a test that hangs, by an exception from a separate thread, after printing the backtraces of all threads. A
# test that hangs in C cannot be stopped by an exception: then the process ends with its servers. This writes to $stderr
# itself, because `warn` raises here (raise_warnings.rb).
module TimeLimit
  Exceeded = Class.new(Exception) # rubocop:disable Lint/InheritException -- no rescue in a test may swallow it

  # Far more than any test takes on a slow machine.
  SECONDS = 240 * GCLevel::SLOWDOWN
  GRACE = 30

  def self.dump(title)
    $stderr.puts "\n#{title}"
    Thread.list.each { |thread| $stderr.puts "#{thread.inspect}\n  #{(thread.backtrace || []).join("\n  ")}" }
  end

  def before_setup
    tested = Thread.current
    @done = Queue.new
    @watch = Thread.new { watch(tested) }
    super
  end

  def after_teardown
    super
  ensure
    @done.close
    @watch.join
  end

  private

  # Does not use Queue#pop(timeout:), which Ruby 3.1 lacks.
  def watch(tested)
    return if over_within?(SECONDS)

    title = "#{self.class}##{name} ran longer than #{SECONDS} s"
    TimeLimit.dump(title)
    tested.raise(Exceeded, title)
    return if over_within?(GRACE)

    $stderr.puts "it does not react to an exception: the run ends here"
    StopAtExit.stop_all
    exit!(1)
  end

  def over_within?(seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    sleep 0.02 until @done.closed? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    @done.closed?
  end
end
