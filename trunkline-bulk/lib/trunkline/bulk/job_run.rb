# frozen_string_literal: true

require_relative "errors"
require_relative "limits"

module Trunkline
  class Bulk
    # Processes a run with jobs. Each job claims one free slice. The queue is filled up to `options jobs:` jobs, or to
    # the number of slices if that is lower.
    #
    # Queues may lose jobs (Sidekiq loses the jobs of a killed process). Lost jobs are replaced with the help of the
    # state, which stores how many jobs wait and when one last began. One further job, the watchdog, is scheduled
    # for a later time: it takes over the slices that were left, and schedules the next watchdog.
    #
    # @api private
    module JobRun
      # Seconds before each retry, when the queue cannot be reached.
      PAUSES = [0.2, 0.5, 1, 2, 4, 8].freeze
      private_constant :PAUSES

      module_function

      # @param bulk [Class]
      # @param name [String] of the run
      # @param state [State]
      # @return [void]
      # @raise [InvalidRequest] without ActiveJob, and for a class or state that a job in another process cannot find
      def call(bulk, name, state, progress: nil) # rubocop:disable Lint/UnusedMethodArgument -- there is none to show
        check(bulk, state)
        Limits.warn_without_redis(bulk.settings)
        run = state.run(bulk.run_key(name))
        fill(bulk, name, state, run, begun: true) if run.state == :running
      end

      # Enqueues jobs for a resumed run, if it was started with jobs.
      # @return [void]
      def continue_run(bulk, name, state)
        run = state.run(bulk.run_key(name))
        jobs = state.jobs(run.id) { |jobs| jobs }
        fill(bulk, name, state, run, begun: true) if jobs && run.state == :running
      end

      # Performs a job.
      # @param watchdog [Integer, nil] the number of the watchdog, if the job is one
      # @return [void]
      def work(bulk, name, state, watchdog)
        run = state.run(bulk.run_key(name))
        return if run.nil? || !started?(state, run, watchdog)

        worked = work_at(bulk, name, state, run, watchdog)
        run = state.run(run.key)
        return fill(bulk, name, state, run, begun: worked, watchdog: watchdog) if run.state == :running

        schedule_watchdog(bulk, name, state, run, watchdog) if run.state == :paused
      end

      # @return [Boolean] whether there was a slice to work at
      def work_at(bulk, name, state, run, watchdog)
        run.state == :running && SliceWorker.new(bulk, run, state).work
      rescue StandardError
        schedule_watchdog(bulk, name, state, run, watchdog) # the queue may not retry a failed job
        raise
      end

      # Records that a job has begun.
      # @return [Boolean] false if the job is a watchdog that has been replaced by another
      def started?(state, run, watchdog)
        current = nil
        state.jobs(run.id) do |jobs, now|
          jobs = jobs.to_h
          current = watchdog.nil? || jobs["watch"] == watchdog
          next jobs if watchdog

          jobs.merge("waiting" => [jobs.fetch("waiting", 0) - 1, 0].max, "begun" => now)
        end
        current
      end

      # @param begun [Boolean] whether there was work, so that more jobs are wanted
      # @return [void]
      def fill(bulk, name, state, run, begun:, watchdog: nil)
        wanted = 0
        most = run.cut_all ? [run.slices, bulk.settings.jobs].min : bulk.settings.jobs
        state.jobs(run.id) do |jobs, now|
          jobs = jobs.to_h
          waiting = jobs_lost?(jobs, now, bulk) ? 0 : jobs.fetch("waiting", 0)
          wanted = [most - waiting, 0].max if begun
          jobs.merge("waiting" => waiting + wanted, "begun" => jobs["begun"] || now)
        end
        wanted.times { enqueue(bulk, name, state) }
        schedule_watchdog(bulk, name, state, run, watchdog)
      end

      # Whether the waiting jobs are lost: none has begun for two leases, or the clock has been set back since.
      def jobs_lost?(jobs, now, bulk) = !(now - jobs.fetch("begun", now)).between?(0, bulk.settings.lease * 2)

      # Schedules the next watchdog, if the previous one has run or is late.
      def schedule_watchdog(bulk, name, state, run, current)
        lease = bulk.settings.lease
        number = nil
        state.jobs(run.id) do |jobs, now|
          scheduled = jobs["watch"] && jobs["watch"] != current && (jobs["watch_at"] - now).between?(-lease, 2 * lease)
          next jobs if scheduled

          number = jobs.fetch("watch", 0) + 1
          jobs.merge("watch" => number, "watch_at" => now + lease)
        end
        enqueue(bulk, name, state, number, wait: lease) if number
      end

      def enqueue(bulk, name, state, watchdog = nil, **later)
        tries = 0
        begin
          # Without queue:, the class's own queue is used: it may be a block (ActiveJob's default is one), not a name.
          SliceJob.set({ queue: bulk.settings.queue, **later }.compact)
            .perform_later(bulk.name, name, state.to_s, watchdog)
        rescue NotImplementedError
          raise unless later.any? # an adapter that cannot schedule a watchdog runs jobs at once
        rescue StandardError
          pause = PAUSES[tries] or raise
          tries += 1
          sleep pause
          retry
        end
      end

      def check(bulk, state)
        Bulk.const_get(:SliceJob) # raises without ActiveJob
        unless bulk.name && Object.const_defined?(bulk.name) && Object.const_get(bulk.name).equal?(bulk)
          raise InvalidRequest, "on: :active_job needs a class with a name, which jobs find it by; #{bulk.inspect} " \
                                "has none"
        end
        return if State.of(State.named(state.to_s)).equal?(state)

        raise InvalidRequest, "on: :active_job needs a state that jobs find in their own process: the path of an " \
                              "SQLite file, or :active_record; got #{state.inspect}"
      end
    end
  end
end
