# frozen_string_literal: true

require "net/http"
require_relative "lock"
require_relative "../trunkline"
require_relative "insight/collector"
require_relative "insight/faraday_hook"
require_relative "insight/net_http_hook"
require_relative "insight/outgoing"
require_relative "insight/overview"
require_relative "insight/probe"

module Trunkline
  # Finds outgoing HTTP calls that should not have been made one after another: those of Trunkline and its facades, of
  # Net::HTTP and of Faraday. Its file is not loaded with the library:
  #
  #   require "trunkline/insight"
  #
  #   report = Trunkline::Insight.watch("nightly import") { Import.run }
  #   puts report
  #   # nightly import: 14 calls to api.test one after another (GET /users/:id x 14), 1.72 s of 2.10 s.
  #   # Side by side: about 0.14 s. app/models/user.rb:31
  #
  # Middleware watches requests, JobMiddleware jobs of Sidekiq, and a Railtie does both for Rails.
  module Insight
    autoload :Assertions, "#{__dir__}/insight/assertions"
    autoload :JobMiddleware, "#{__dir__}/insight/job_middleware"
    autoload :Matchers, "#{__dir__}/insight/matchers"
    autoload :Middleware, "#{__dir__}/insight/middleware"
    autoload :Panel, "#{__dir__}/insight/panel"

    # How many calls of one shape, one after another, are a loop.
    LOOP = 3
    # How many reports are kept for Insight.report.
    KEPT = 100
    KEY = :trunkline_insight
    private_constant :KEY

    @lock = Lock.new
    @watches = 0
    @reports = []
    @probe = Probe.new

    class << self
      # Watches the calls that a block makes, in its thread and fiber; from Ruby 3.2 on also in the threads and fibers
      # that it starts. Watches may be nested: each sees the calls in it.
      #
      # @param name [String, nil] for the report
      # @param min [Integer] how many calls of one shape, one after another, are a loop
      # @yield
      # @return [Report]
      # @raise [InvalidRequest]
      def watch(name = nil, min: LOOP, &block)
        raise InvalidRequest, "watch: needs a block, whose calls it watches" unless block
        raise InvalidRequest.of("min", min, "an Integer from 2") unless min.is_a?(Integer) && min >= 2

        collector = Collector.new(name || Place.here, min: min)
        collect(collector, &block)
        keep(collector.report)
      end

      # @return [Overview] of the last watches that found something, 100 at most
      def report = Overview.new(@lock.synchronize { @reports.dup })

      # Forgets what #report tells.
      # @return [nil]
      def clear
        @lock.synchronize { @reports.clear }
        nil
      end

      # The share of requests and jobs that the middlewares watch: 0.0 in production, unless it was set, else 1.0.
      # @return [Float]
      def sample = @sample || (environment == "production" ? 0.0 : 1.0)

      # @param share [Numeric, nil] from 0 to 1; nil for the default
      # @raise [InvalidRequest]
      def sample=(share)
        unless share.nil? || (share.is_a?(Numeric) && share.real? && share.between?(0, 1))
          raise InvalidRequest.of("sample", share, "a number from 0 to 1")
        end

        @sample = share&.to_f
      end

      # What is told of findings: by default Rails' logger, else Trunkline.logger.
      # @return [#warn]
      def logger = @logger || (defined?(::Rails.logger) && ::Rails.logger) || Trunkline.logger
      attr_writer :logger

      # Runs a block whose calls a collector gets.
      # @return [Object] the block's value
      # @api private
      def collect(collector)
        outer = current
        collector.outer = outer
        listen
        store[KEY] = collector
        yield
      ensure
        store[KEY] = outer
        collector.close
        leave
      end

      # Warns of what the watch of a request or a job has found.
      # @return [Report]
      # @api private
      def finish(collector)
        report = keep(collector.report)
        Instrument.guard(self) { logger.warn(report.to_s) } unless report.findings.empty?
        report
      end

      # Keeps a report that has findings for #report.
      # @return [Report] the same
      # @api private
      def keep(report)
        return report if report.findings.empty?

        @lock.synchronize do
          @reports << report
          @reports.shift if @reports.size > KEPT
        end
        report
      end

      # @return [String] "development" when nothing says so
      # @api private
      def environment = ENV["RAILS_ENV"] || ENV["RACK_ENV"] || "development"

      # @return [Collector, nil] of this fiber
      # @api private
      def current = store[KEY]

      private

      # Threads and fibers inherit Fiber's, of Ruby 3.2 and newer.
      def store = Fiber.respond_to?(:[]) ? Fiber : Thread.current

      # The probe is there while somebody watches; the hooks stay, and ask #current.
      def listen
        NetHTTPHook.install
        FaradayHook.install
        @lock.synchronize { Instrument.add(@probe) if (@watches += 1) == 1 }
      end

      def leave
        @lock.synchronize { Instrument.remove(@probe) if (@watches -= 1).zero? }
      end
    end
  end
end

require_relative "insight/railtie" if defined?(Rails::Railtie)
RSpec.configure { |config| config.include Trunkline::Insight::Matchers } if defined?(RSpec.configure)
