# frozen_string_literal: true

require_relative "fibers"
require_relative "small_scheduler"

# Runs the same work in a plain thread, and in a fiber under each scheduler.
module CallContexts
  ALL = {
    thread: lambda(&:call),
    async: ->(work) { Sync { work.call } },
    small: lambda do |work|
      result = nil
      Thread.new do
        Fiber.set_scheduler(SmallScheduler.new)
        Fiber.schedule { result = work.call }
        Fiber.set_scheduler(nil) # runs the scheduler until its fibers have ended
      end.join
      result
    end
  }.freeze
  CONTEXTS = FIBERS ? ALL : ALL.slice(:thread)

  # @yield [name] once in each context
  def each_context
    CONTEXTS.each { |name, context| context.call(-> { yield name }) }
  end
end
