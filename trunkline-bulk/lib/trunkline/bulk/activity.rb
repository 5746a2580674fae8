# frozen_string_literal: true

require_relative "state/workers"

module Trunkline
  class Bulk
    # The activity of this process in a run, for Bulk.status in any process: requests in flight, items per
    # second, and the slowest origins. The process's workers add to it, and it is reported to the state every
    # State#report_interval seconds.
    #
    # @api private
    class Activity
      # The number of report intervals after which a report expires.
      LIFE = 3
      # Seconds of a window. The figures are those of the current window and the one before.
      WINDOW = 5.0
      # The maximum number of origins in a report.
      SLOWEST = 5
      # Seconds until the first report.
      FIRST = 1.0
      private_constant :FIRST, :LIFE, :SLOWEST, :WINDOW

      # times: {origin => [requests, seconds]}
      Window = Struct.new(:began, :items, :times)
      private_constant :Window

      @instances = {}
      @instances_lock = Mutex.new

      class << self
        # @param state [State]
        # @param run_id [Integer]
        # @return [Activity] the Activity of this process
        def of(state, run_id)
          @instances_lock.synchronize do
            @instances.delete_if { |_, one| one.expired? }
            @instances[[state, run_id, Process.pid]] ||= new(state, run_id)
          end
        end
      end

      # @param state [State]
      # @param run_id [Integer]
      def initialize(state, run_id)
        @state = state
        @run_id = run_id
        @name = State::Workers.process
        @workers = {}.compare_by_identity
        @lock = Mutex.new
        @windows = [Window.new(now, 0, {})]
        @reported_at = now - state.report_interval + FIRST
      end

      # @param worker [#in_flight]
      # @return [void]
      def join(worker)
        @lock.synchronize { @workers[worker] = true }
      end

      # Must be called before the worker's last #add. The figures are kept, because jobs of the same run may follow at
      # once.
      # @param worker [#in_flight]
      # @return [void]
      def leave(worker)
        @lock.synchronize { @workers.delete(worker) }
      end

      # @param items [Integer] the number of items finished since the worker's last call
      # @param times [Hash{String => Array(Integer, Float)}] requests, and the seconds that they took, by origin
      # @return [void]
      def add(items, times)
        due = @lock.synchronize do
          rotate_windows
          window = @windows.last
          window.items += items
          times.each { |origin, time| sum(window.times, origin, time) }
          @workers.empty? || now - @reported_at >= @state.report_interval
        end
        report if due
      end

      # @return [Boolean] whether there has been no worker for some time
      def expired? = @lock.synchronize { @workers.empty? && now - @windows.last.began > 2 * WINDOW }

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def rotate_windows
        return if now - @windows.last.began < WINDOW

        @windows = [@windows.last, Window.new(now, 0, {})]
        @windows.shift if now - @windows.first.began > 3 * WINDOW # no worker has added meanwhile
      end

      def sum(times, origin, (requests, seconds))
        total = times[origin] ||= [0, 0.0]
        total[0] += requests
        total[1] += seconds
      end

      def report
        figures = @lock.synchronize do
          @reported_at = now
          { "in_flight" => @workers.each_key.sum(&:in_flight), "rate" => rate, "slowest" => slowest }
        end
        @state.report(@run_id, @name, figures, LIFE * @state.report_interval)
      end

      # The divisor is at least 0.1 s, because a rate over less time is meaningless.
      def rate = (@windows.sum(&:items) / [now - @windows.first.began, 0.1].max).round(1)

      # @return [Array<Array(String, Integer, Float)>] origin, requests, mean seconds of a request
      def slowest
        times = {}
        @windows.each { |window| window.times.each { |origin, time| sum(times, origin, time) } }
        means = times.map { |origin, (requests, seconds)| [origin, requests, (seconds / requests).round(4)] }
        means.max_by(SLOWEST, &:last)
      end
    end
  end
end
