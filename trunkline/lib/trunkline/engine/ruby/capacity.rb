# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # The limit of connections that all calls of the process may use at once (max_connections). The caller holds the
      # lock of the pools.
      module Capacity
        LEAST = 16
        private_constant :LEAST

        @used = 0
        @limit = nil
        @queue = []

        class << self
          attr_reader :used

          # Half of the file descriptors that the process may open, unless a limit was set.
          def limit = @limit ||= by_descriptors

          def limit=(count)
            @limit = count
            serve_queue
          end

          def full? = @used >= limit

          # @param bucket [Pool::Bucket] the bucket to serve later when the limit is reached
          # @return [Boolean]
          def take(bucket)
            if full?
              @queue << bucket unless @queue.include?(bucket)
              return false
            end
            @used += 1
            true
          end

          def release
            @used -= 1
            serve_queue unless @queue.empty?
          end

          def after_fork
            @used = 0
            @queue = []
          end

          private

          # A bucket that needs more room joins the queue again.
          def serve_queue
            waiting = @queue
            @queue = []
            while !full? && (bucket = waiting.shift)
              bucket.pool.serve_waiters(bucket)
            end
            @queue = waiting | @queue
          end

          def by_descriptors
            limit = Process.getrlimit(Process::RLIMIT_NOFILE).first
            limit == Process::RLIM_INFINITY ? 0xffff_ffff : [limit / 2, LEAST].max
          rescue NotImplementedError, NameError, SystemCallError # Windows, JRuby
            0xffff
          end
        end
      end
    end
  end
end
