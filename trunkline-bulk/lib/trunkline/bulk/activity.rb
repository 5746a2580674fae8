# frozen_string_literal: true

require_relative "state/workers"

module Trunkline
  class Bulk
    # What this process does at a run now, for Bulk.status in any process: requests in flight, items a second, and the
    # origins that take longest. Its workers add to it, and it is reported to the state each State#report_interval.
    #
    # @api private
    class Activity
      # Intervals between two reports after which one counts no more.
      LIFE = 3
      # Seconds of a window: figures are those of the current one and the one before.
      WINDOW = 5.0
      # Origins in a report.
      SLOWEST = 5
      # Seconds until the first report.
      FIRST = 1.0
      private_constant :FIRST, :LIFE, :SLOWEST, :WINDOW

      # times: {origin => [requests, seconds]}
      Window = Struct.new(:began, :items, :times)
      private_constant :Window

      @known = {}
      @opening = Mutex.new

      class << self
        # @param state [State]
        # @param run_id [Integer]
        # @return [Activity] the one of this process
        def of(state, run_id)
          @opening.synchronize do
            @known.delete_if { |_, one| one.over? }
            @known[[state, run_id, Process.pid]] ||= new(state, run_id)
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

      # Before it adds for the last time. Jobs of the same run may follow at once: the figures stay.
      # @param worker [#in_flight]
      # @return [void]
      def leave(worker)
        @lock.synchronize { @workers.delete(worker) }
      end

      # @param items [Integer] that are over since a worker has added the last
      # @param times [Hash{String => Array(Integer, Float)}] requests, and the seconds that they took, by origin
      # @return [void]
      def add(items, times)
        due = @lock.synchronize do
          turn
          window = @windows.last
          window.items += items
          times.each { |origin, time| sum(window.times, origin, time) }
          @workers.empty? || now - @reported_at >= @state.report_interval
        end
        report if due
      end

      # @return [Boolean] whether nobody has worked here for some time
      def over? = @lock.synchronize { @workers.empty? && now - @windows.last.began > 2 * WINDOW }

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def turn
        return if now - @windows.last.began < WINDOW

        @windows = [@windows.last, Window.new(now, 0, {})]
        @windows.shift if now - @windows.first.began > 3 * WINDOW # nobody has worked meanwhile
      end

      def sum(times, origin, (requests, seconds))
        known = times[origin] ||= [0, 0.0]
        known[0] += requests
        known[1] += seconds
      end

      def report
        figures = @lock.synchronize do
          @reported_at = now
          { "in_flight" => @workers.each_key.sum(&:in_flight), "rate" => rate, "slowest" => slowest }
        end
        @state.report(@run_id, @name, figures, LIFE * @state.report_interval)
      end

      # A window that has just begun says little.
      def rate = (@windows.sum(&:items) / [now - @windows.first.began, 0.1].max).round(1)

      # @return [Array(String, Integer, Float)] origin, requests, seconds of a request
      def slowest
        times = {}
        @windows.each { |window| window.times.each { |origin, time| sum(times, origin, time) } }
        means = times.map { |origin, (requests, seconds)| [origin, requests, (seconds / requests).round(4)] }
        means.max_by(SLOWEST, &:last)
      end
    end
  end
end
