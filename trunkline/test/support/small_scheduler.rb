# frozen_string_literal: true

# A minimal Fiber scheduler (Fiber::Scheduler): code that works with it needs nothing specific to Async.
class SmallScheduler
  def initialize
    @readable = {}
    @writable = {}
    @timers = {}
    @ready = []
    @blocked = {}
    @interrupts = {}
    @lock = Mutex.new
    @alarm, @bell = IO.pipe
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  def io_wait(io, events, timeout)
    fiber = Fiber.current
    @readable[fiber] = io if events.anybits?(IO::READABLE)
    @writable[fiber] = io if events.anybits?(IO::WRITABLE)
    @timers[fiber] = now + timeout if timeout
    Fiber.yield
  ensure
    [@readable, @writable, @timers].each { |table| table.delete(fiber) }
  end

  def kernel_sleep(duration = nil)
    block(:sleep, duration)
  end

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    @timers[fiber] = now + timeout if timeout
    @blocked[fiber] = true
    Fiber.yield
  ensure
    @timers.delete(fiber)
    @blocked.delete(fiber)
  end

  # May be called from any thread.
  def unblock(_blocker, fiber)
    @lock.synchronize { @ready << fiber }
    @bell.write_nonblock(".", exception: false)
  end

  # May be called from any thread; Ruby 4.0 uses it to interrupt a fiber that waits for an IO that another closes.
  def fiber_interrupt(fiber, exception)
    @lock.synchronize { @interrupts[fiber] = exception }
    unblock(nil, fiber)
  end

  # Runs until all fibers have ended.
  def run = (turn until idle?)

  def close
    run
  ensure
    [@alarm, @bell].each(&:close)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def idle? = [@readable, @writable, @timers, @blocked].all?(&:empty?) && @lock.synchronize { @ready.empty? }

  def turn
    readable, writable = IO.select([@alarm, *@readable.values], @writable.values, [], nearest)
    @alarm.read_nonblock(64, exception: false) if readable&.include?(@alarm)
    wake(@lock.synchronize { @ready.slice!(0..) }) { true }
    wake(@readable.select { |_, io| readable&.include?(io) }.keys) { IO::READABLE }
    wake(@writable.select { |_, io| writable&.include?(io) }.keys) { IO::WRITABLE }
    wake(@timers.select { |_, time| time <= now }.keys) { false }
  end

  def nearest
    [@timers.values.min&.-(now), 0].compact.max if @timers.any?
  end

  # A fiber that was woken up may have ended others.
  def wake(fibers)
    fibers.each { |fiber| go_on(fiber, yield) if fiber.alive? && waiting?(fiber) }
  end

  def go_on(fiber, result)
    exception = @lock.synchronize { @interrupts.delete(fiber) }
    exception ? fiber.raise(exception) : fiber.resume(result)
  end

  def waiting?(fiber) = [@readable, @writable, @timers, @blocked].any? { |table| table.key?(fiber) }
end
