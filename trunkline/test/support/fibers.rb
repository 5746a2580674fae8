# frozen_string_literal: true

# Fibers under the scheduler of the gem async. It needs io-event, an extension of CRuby: where that is not available, a
# test that starts such a fiber is skipped.
begin
  require "async"
  FIBERS = true
rescue LoadError
  FIBERS = false

  # These methods replace those of async.
  module Kernel
    %i[Sync Async].each do |name|
      define_method(name) { |*| raise Minitest::Skip, "fibers need the gem async, which cannot be installed here" }
    end
  end
end
