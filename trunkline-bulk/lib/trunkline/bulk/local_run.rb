# frozen_string_literal: true

require_relative "progress"
require_relative "worker"

module Trunkline
  class Bulk
    # Processes a run in the calling thread.
    #
    # @api private
    module LocalRun
      # @param bulk [Class]
      # @param name [String] of the run
      # @param state [State]
      # @param progress [Boolean, #call, nil]
      # @return [void]
      def self.call(bulk, name, state, progress: nil)
        run = state.run(bulk.run_key(name))
        return unless run.state == :running

        Limits.warn_without_redis(bulk.settings)
        display = Progress.for(progress) { RunStatus.new(name, state.run(run.key)) }
        Worker.new(bulk, run, state) { display&.report }.work
      ensure
        display&.finish
      end
    end
  end
end
