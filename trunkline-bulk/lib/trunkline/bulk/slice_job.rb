# frozen_string_literal: true

begin
  require "active_job"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "on: :active_job needs the gem activejob: add gem \"activejob\", \">= 7.1\" to " \
                                   "the Gemfile (#{error.message})"
end
require_relative "job_run"
require_relative "slice_worker"

module Trunkline
  class Bulk
    # Claims a slice of a run, and processes it. The job may run any number of times, and concurrently: it does nothing
    # if there is nothing to do.
    class SliceJob < ::ActiveJob::Base
      # If the adapter runs a job inside the job that enqueues it, the inner job waits here until the outer one has
      # ended.
      WAITING = :trunkline_bulk_jobs
      private_constant :WAITING

      # @param bulk [String] the class
      # @param name [String] of the run
      # @param state [String]
      # @param watchdog [Integer, nil] the number of the watchdog, if the job is one
      # @return [void]
      def perform(bulk, name, state, watchdog = nil)
        waiting = Thread.current[WAITING]
        return waiting << [bulk, name, state, watchdog] if waiting

        begin
          Thread.current[WAITING] = waiting = [[bulk, name, state, watchdog]]
          work(*waiting.shift) until waiting.empty?
        ensure
          Thread.current[WAITING] = nil
        end
      end

      private

      def work(bulk, name, state, watchdog)
        JobRun.work(bulk.constantize, name, State.of(State.named(state)), watchdog)
      end
    end
  end
end
