# frozen_string_literal: true

# Fibers under the scheduler of the gem async. It needs io-event, an extension of CRuby: where that is not available, a
# small reactor takes its place. Where Ruby has no Fiber schedulers, a test that starts such a fiber is skipped.
FIBERS = Fiber.respond_to?(:set_scheduler)

begin
  require "async"
rescue LoadError
  if FIBERS
    require_relative "small_reactor"
    Async = SmallReactor
  end

  # These methods replace those of async.
  module Kernel
    %i[Sync Async].each do |name|
      define_method(name) do |&block|
        next SmallReactor.public_send(name.downcase, &block) if FIBERS

        raise Minitest::Skip, "fibers need Fiber.set_scheduler, which this Ruby does not have"
      end
    end
  end
end
