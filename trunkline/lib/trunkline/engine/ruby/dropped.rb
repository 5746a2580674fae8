# frozen_string_literal: true

require_relative "step_lock"
require_relative "waker"
if RUBY_ENGINE == "jruby"
  require "java"
  require_relative "ending_on_jruby"
end

module Trunkline
  module Engine
    module Ruby
      # Objects that callers may drop while they still use a connection: streamed responses that are half read, about
      # which a warning is printed; connections after a switch of protocols; and a Multi that belongs to an abandoned
      # enumerator or fiber. When such an object is garbage collected, its connections are closed.
      module Dropped
        WARNING = "an answer with stream: true was dropped before its end, and held its connection until it was " \
                  "collected: read all of it, or close it"
        private_constant :WARNING

        # JRuby runs threads in parallel, and a Hash that several of them change loses entries.
        @lock = StepLock.new
        @held_by_caller = {}.compare_by_identity
        @collected = Thread::Queue.new
        @last_collection = 0.0

        class << self
          # @param state [ResponseState]
          # @param exchange [Exchange] must not refer to state
          def watch(state, exchange)
            known = @lock.synchronize do
              @held_by_caller.key?(exchange).tap { @held_by_caller[exchange] ||= [nil] }
            end
            return if known

            ObjectSpace.define_finalizer(state, finalizer(exchange))
          end

          # Watches a connection after a switch of protocols, which callers may also fail to close.
          # @param switched [Switched]
          # @param hold [Switched::Hold] must not refer to switched
          def watch_switched(switched, hold)
            ObjectSpace.define_finalizer(switched, finalizer(hold))
          end

          # @param multi [Multi]
          # @param hold [Multi::Hold] must not refer to multi
          def watch_multi(multi, hold)
            ObjectSpace.define_finalizer(multi, finalizer(hold))
          end

          def unwatch_multi(multi)
            ObjectSpace.undefine_finalizer(multi)
          end

          def unwatch(state, exchange)
            ObjectSpace.undefine_finalizer(state) if take(exchange)
          end

          # @param call_site [String] file and line of the call in the program
          def note(exchange, call_site)
            noted = @lock.synchronize { @held_by_caller[exchange] }
            noted[0] ||= call_site if noted
          end

          def any_held_by_caller? = !@held_by_caller.empty?

          # Closes the connections of collected objects; called before each exchange, and whenever a connection is
          # wanted.
          def clean
            until @collected.empty?
              holder = @collected.pop(true)
              call_site, = take(holder)
              Ruby.uninterruptible { holder.abort }
              warn_of(call_site) if call_site
            end
          rescue ThreadError # another thread took the last one
            nil
          end

          # Runs one garbage collection for all exchanges that were waiting when it began.
          # @param waits_since [Float]
          def collect(waits_since)
            return unless @last_collection < waits_since

            @last_collection = Ruby.now
            run_collector
            clean
          end

          private

          def take(holder) = @lock.synchronize { @held_by_caller.delete(holder) }

          # JRuby's GC.start does nothing.
          if RUBY_ENGINE == "jruby"
            def run_collector = java.lang.System.gc
          else
            def run_collector = GC.start
          end

          # A finalizer may run at any point, and so takes no lock: it closes the socket now, and the pool is updated
          # later. On JRuby it runs in a thread of its own, some time after a collection that a call may be waiting for;
          # and at the end of the process also for objects that were not dropped.
          def finalizer(holder)
            collected = @collected
            lambda do |_id|
              next if RUBY_ENGINE == "jruby" && EndingOnJRuby.finalizing?

              holder.drop
              collected << holder
              Dropped.clean if RUBY_ENGINE == "jruby"
            rescue StandardError
              nil
            end
          end

          # A program may turn warnings into exceptions; one must not be raised in an unrelated call.
          def warn_of(call_site)
            warn("#{call_site}: #{WARNING}")
          rescue StandardError
            nil
          end
        end
      end
    end
  end
end
