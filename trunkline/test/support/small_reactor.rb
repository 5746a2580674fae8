# frozen_string_literal: true

require_relative "small_scheduler"

# What the tests use of the gem async, for a Ruby on which that gem does not work: a scheduler for tasks.
class SmallReactor < SmallScheduler
  # Ends a task.
  Stop = Class.new(Exception) # rubocop:disable Lint/InheritException -- so that no `rescue` of an error keeps it

  # The default of Task#with_timeout.
  class TimeoutError < StandardError
    def initialize(message = "execution expired") = super
  end

  # A block that runs in its own fiber, at once until it first waits.
  class Task
    # Of the current fiber, to which Thread#[] belongs.
    # @return [Task, nil]
    def self.current = Thread.current[:small_task]

    def initialize(&block)
      @waiting = []
      Fiber.schedule do
        @fiber = Fiber.current
        Thread.current[:small_task] = self
        finish(&block)
      end
    end

    def async(&block) = Task.new(&block)

    # @return [Object, nil] the result of the block; nil when it was stopped
    def wait
      wait_for_end until @over
      @error ? raise(@error) : @result
    end

    # Interrupts what the fiber waits for.
    def stop
      return if @over

      Fiber.current.equal?(@fiber) ? raise(Stop) : @fiber.raise(Stop)
    end

    def with_timeout(seconds, error = TimeoutError, message = "execution expired", &block)
      Fiber.scheduler.timeout_after(seconds, error, message, &block)
    end

    private

    def wait_for_end
      @waiting << Fiber.current
      Fiber.scheduler.block(self)
    ensure
      @waiting.delete(Fiber.current)
    end

    # An exception that is no StandardError, such as that of an assertion, also ends the reactor.
    def finish
      @result = yield self
    rescue Stop
      nil # has ended the block
    rescue Exception => error # rubocop:disable Lint/RescueException -- see above
      @error = error
      raise unless error.is_a?(StandardError)
    ensure
      @over = true
      @waiting.each { |fiber| Fiber.scheduler.unblock(self, fiber) }
    end
  end

  # As Kernel#Sync of async.
  # @return [Object] the result of the block, which runs in the current task, or in a reactor until all tasks have ended
  def self.sync(&block)
    Task.current ? yield(Task.current) : async(&block).wait
  end

  # As Kernel#Async of async.
  # @return [Task] that of the block; without a reactor, one runs until all tasks have ended
  def self.async(&block)
    Fiber.current_scheduler ? Task.new(&block) : run(&block)
  end

  def self.run(&block)
    reactor = new
    Fiber.set_scheduler(reactor)
    Task.new(&block).tap { reactor.run }
  ensure
    reactor.abandon
    Fiber.set_scheduler(nil)
  end
  private_class_method :run

  # Leaves fibers that have not ended, after an exception.
  def abandon
    @abandoned = true
  end

  # Called by Timeout.
  def timeout_after(seconds, error, message)
    waiting = Fiber.current
    timer = fiber do
      block(:timer, seconds)
      fiber_interrupt(waiting, error.exception(message))
    rescue Stop
      nil # the block below has ended
    end
    yield seconds
  ensure
    timer.raise(Stop) if timer.alive?
  end

  private

  def idle? = @abandoned || super
end
