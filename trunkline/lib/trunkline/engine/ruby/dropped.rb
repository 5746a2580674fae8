# frozen_string_literal: true

require_relative "waker"
if RUBY_ENGINE == "jruby"
  require "java"
  require_relative "ending_on_jruby"
end

module Trunkline
  module Engine
    module Ruby
      # What callers may drop while it is under way: streamed answers half read, of which who asked is told; connections
      # after a switch of protocols; and a Multi, by an enumerator or a fiber that nobody goes on with. When one was
      # collected its connections are closed.
      module Dropped
        WARNING = "an answer with stream: true was dropped before its end, and held its connection until it was " \
                  "collected: read all of it, or close it"
        private_constant :WARNING

        @with_callers = {}.compare_by_identity
        @collected = Thread::Queue.new
        @last_collection = 0.0

        class << self
          # @param answer [Answer]
          # @param exchange [Exchange] which does not refer to it
          def watch(answer, exchange)
            return if @with_callers.key?(exchange)

            @with_callers[exchange] = [nil]
            ObjectSpace.define_finalizer(answer, finalizer(exchange))
          end

          # A connection after a switch of protocols, which nobody may close either.
          # @param switched [Switched]
          # @param hold [Switched::Hold] which does not refer to it
          def watch_switched(switched, hold)
            ObjectSpace.define_finalizer(switched, finalizer(hold))
          end

          # @param multi [Multi]
          # @param hold [Multi::Hold] which does not refer to it
          def watch_multi(multi, hold)
            ObjectSpace.define_finalizer(multi, finalizer(hold))
          end

          def unwatch_multi(multi)
            ObjectSpace.undefine_finalizer(multi)
          end

          def unwatch(answer, exchange)
            ObjectSpace.undefine_finalizer(answer) if @with_callers.delete(exchange)
          end

          # @param place [String] of the program that asked for the answer
          def note(exchange, place)
            noted = @with_callers[exchange]
            noted[0] ||= place if noted
          end

          def any_with_callers? = !@with_callers.empty?

          # Closes what was collected; called before each exchange, and whenever a connection is wanted.
          def clean
            until @collected.empty?
              holder = @collected.pop(true)
              place, = @with_callers.delete(holder)
              Ruby.uninterruptible { holder.abort }
              warn_of(place) if place
            end
          rescue ThreadError # another thread was faster
            nil
          end

          # One collection serves all exchanges that waited when it began.
          # @param waits_since [Float]
          def collect(waits_since)
            return unless @last_collection < waits_since

            @last_collection = Ruby.now
            run_collector
            clean
          end

          private

          # JRuby's GC.start does nothing.
          if RUBY_ENGINE == "jruby"
            def run_collector = java.lang.System.gc
          else
            def run_collector = GC.start
          end

          # It runs anywhere, and so takes no lock: the server sees the end of its connection now, the pool later. On
          # JRuby it has a thread of its own, some time after the collection that a call may wait for; and when the
          # process ends it runs for those that nobody dropped, too.
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

          # A program may make exceptions of warnings: the call that is under way is not the one that is warned of.
          def warn_of(place)
            warn("#{place}: #{WARNING}")
          rescue StandardError
            nil
          end
        end
      end
    end
  end
end
