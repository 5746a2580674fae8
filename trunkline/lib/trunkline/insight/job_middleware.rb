# frozen_string_literal: true

module Trunkline
  module Insight
    # Watches the calls of jobs, as Middleware watches those of requests. For Sidekiq's server:
    #
    #   Sidekiq.configure_server do |config|
    #     config.server_middleware { |chain| chain.add Trunkline::Insight::JobMiddleware }
    #   end
    class JobMiddleware
      # Runs a job, and logs a warning with the findings.
      # @param name [String] of the job
      # @return [Object] the block's value
      # @api private
      def self.watch(name, &block)
        return yield if rand >= Insight.sample

        collector = Collector.new(name)
        begin
          Insight.collect(collector, &block)
        ensure
          Insight.finish(collector)
        end
      end

      # @param job [Hash] as Sidekiq passes it
      # @return [Object] the block's value
      def call(_instance, job, _queue, &block)
        JobMiddleware.watch(job["wrapped"] || job["class"], &block)
      end
    end
  end
end
