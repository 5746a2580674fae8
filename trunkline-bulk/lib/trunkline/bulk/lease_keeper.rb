# frozen_string_literal: true

module Trunkline
  class Bulk
    # Renews a worker's leases in a separate thread while the worker works.
    #
    # @api private
    module LeaseKeeper
      # The number of renewals within the time of a lease.
      TIMES = 3
      private_constant :TIMES

      # @param state [State]
      # @param run_id [Integer]
      # @param worker [String]
      # @param lease [Numeric] seconds
      # @yield
      # @return [Object] what the block returns
      def self.run(state, run_id, worker, lease)
        ended = false
        lock = Mutex.new
        condition = ConditionVariable.new
        thread = keeper do
          renew(state, run_id, worker, lease) until ended_within(lease.fdiv(TIMES), lock, condition) { ended }
        end
        yield
      ensure
        lock.synchronize do
          ended = true
          condition.signal
        end
        thread&.join
      end

      def self.keeper
        Thread.new do
          Thread.current.name = "trunkline bulk leases"
          Thread.current.report_on_exception = false
          yield
        end
      end

      # Errors are ignored, such as a database that is unavailable for longer than the state waits, or a disk that is
      # full for a moment: the worker raises when it cannot record, and otherwise continues with its leases.
      def self.renew(state, run_id, worker, lease)
        state.renew(run_id, worker, lease)
      rescue StandardError
        nil
      end

      # @yieldreturn [Boolean] whether the worker has ended
      # @return [Boolean]
      def self.ended_within(seconds, lock, condition)
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        lock.synchronize do
          until yield || (left = limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)) <= 0
            condition.wait(lock, left)
          end
          yield
        end
      end
      private_class_method :keeper, :ended_within, :renew
    end
  end
end
