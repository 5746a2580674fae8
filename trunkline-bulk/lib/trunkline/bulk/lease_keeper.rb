# frozen_string_literal: true

module Trunkline
  class Bulk
    # Renews what a worker has claimed, in a thread of its own, while the worker works.
    #
    # @api private
    module LeaseKeeper
      # Renewals within the time of a lease.
      TIMES = 3
      private_constant :TIMES

      # @param state [State]
      # @param run_id [Integer]
      # @param worker [String]
      # @param lease [Numeric] seconds
      # @yield
      # @return [Object] what the block returns
      def self.run(state, run_id, worker, lease)
        ended = Thread::Queue.new
        thread = Thread.new do
          Thread.current.name = "trunkline bulk leases"
          Thread.current.report_on_exception = false
          state.renew(run_id, worker, lease) until wait(ended, lease.fdiv(TIMES))
        end
        yield
      ensure
        ended << true
        thread&.join
      end

      # @return [Boolean] whether it has ended
      def self.wait(ended, seconds) # rubocop:disable Naming/PredicateMethod -- it waits
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        sleep 0.05 while ended.empty? && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
        !ended.empty?
      end
      private_class_method :wait
    end
  end
end
