# frozen_string_literal: true

# Fibers under the scheduler of the gem async. It needs io-event, an extension of CRuby: where that is not to be had, a
# test that begins such a fiber is skipped there.
begin
  require "async"
  FIBERS = true
rescue LoadError
  FIBERS = false

  # Kernel#Sync and Kernel#Async are async's.
  module Kernel
    %i[Sync Async].each do |name|
      define_method(name) { |*| raise Minitest::Skip, "fibers need the gem async, which cannot be installed here" }
    end
  end
end
