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
        @most = nil
        @queue = []

        class << self
          attr_reader :used

          # Half of the file descriptors that the process may open, unless a limit was set.
          def most = @most ||= usual

          def most=(count)
            @most = count
            serve
          end

          def full? = @used >= most

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

          def give
            @used -= 1
            serve unless @queue.empty?
          end

          def after_fork
            @used = 0
            @queue = []
          end

          private

          # A bucket that needs more room joins the queue again.
          def serve
            waiting = @queue
            @queue = []
            while !full? && (bucket = waiting.shift)
              bucket.pool.serve(bucket)
            end
            @queue = waiting | @queue
          end

          def usual
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
