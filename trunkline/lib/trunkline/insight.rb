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
  # Finds outgoing HTTP calls that should not have been made one after another. It sees the calls of Trunkline, its
  # facades, Net::HTTP and Faraday. This file is not loaded with the library:
  #
  #   require "trunkline/insight"
  #
  #   report = Trunkline::Insight.watch("nightly import") { Import.run }
  #   puts report
  #   # nightly import: 14 calls to api.test one after another (GET /users/:id x 14), 1.72 s of 2.10 s.
  #   # Side by side: about 0.14 s. app/models/user.rb:31
  #
  # Middleware watches the requests of a Rack application, JobMiddleware watches Sidekiq jobs. In Rails, a Railtie
  # watches requests and Active Job jobs.
  module Insight
    autoload :Assertions, "#{__dir__}/insight/assertions"
    autoload :JobMiddleware, "#{__dir__}/insight/job_middleware"
    autoload :Matchers, "#{__dir__}/insight/matchers"
    autoload :Middleware, "#{__dir__}/insight/middleware"
    autoload :Panel, "#{__dir__}/insight/panel"

    # How many calls of one shape (method and path pattern), one after another, count as a loop.
    LOOP = 3
    # How many reports are kept for Insight.report.
    MAX_REPORTS = 100
    KEY = :trunkline_insight
    private_constant :KEY

    @lock = Lock.new
    @watches = 0
    @reports = []
    @probe = Probe.new

    class << self
      # Collects the calls that the block makes in its thread and fiber; from Ruby 3.2 on also those of the threads and
      # fibers that the block starts. Watches may be nested: an outer watch also collects the calls of an inner one.
      #
      # @param name [String, nil] name of the watch in the report; nil: the file and line of the caller
      # @param min [Integer] how many calls of one shape, one after another, count as a loop; at least 2
      # @yield
      # @return [Report] the calls and the findings
      # @raise [InvalidRequest] without a block, or for an invalid min
      def watch(name = nil, min: LOOP, &block)
        raise InvalidRequest, "watch: needs a block, whose calls it watches" unless block
        raise InvalidRequest.of("min", min, "an Integer from 2") unless min.is_a?(Integer) && min >= 2

        collector = Collector.new(name || CallSite.here, min: min)
        collect(collector, &block)
        add(collector.report)
      end

      # @return [Overview] the reports of the last 100 watches that had findings
      def report = Overview.new(@lock.synchronize { @reports.dup })

      # Deletes the reports that #report returns.
      # @return [nil]
      def clear
        @lock.synchronize { @reports.clear }
        nil
      end

      # The share of requests and jobs that Middleware and JobMiddleware watch. The default is 0.0 in production and 1.0
      # elsewhere.
      # @return [Float] from 0.0 to 1.0
      def sample = @sample || (environment == "production" ? 0.0 : 1.0)

      # @param share [Numeric, nil] from 0 to 1; nil for the default
      # @raise [InvalidRequest] for any other value
      def sample=(share)
        unless share.nil? || (share.is_a?(Numeric) && share.real? && share.between?(0, 1))
          raise InvalidRequest.of("sample", share, "a number from 0 to 1")
        end

        @sample = share&.to_f
      end

      # The logger for the findings of watched requests and jobs. The default is Rails' logger, else Trunkline.logger.
      # @return [#warn]
      def logger = @logger || (defined?(::Rails.logger) && ::Rails.logger) || Trunkline.logger
      attr_writer :logger

      # Runs a block and adds its calls to the collector.
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
        stop_listening
      end

      # Logs a warning with the findings of a watched request or job, if there are any.
      # @return [Report]
      # @api private
      def finish(collector)
        report = add(collector.report)
        Instrument.guard(self) { logger.warn(report.to_s) } unless report.findings.empty?
        report
      end

      # Keeps a report that has findings for #report.
      # @return [Report] the given report
      # @api private
      def add(report)
        return report if report.findings.empty?

        @lock.synchronize do
          @reports << report
          @reports.shift if @reports.size > MAX_REPORTS
        end
        report
      end

      # @return [String] from RAILS_ENV or RACK_ENV; "development" without either
      # @api private
      def environment = ENV["RAILS_ENV"] || ENV["RACK_ENV"] || "development"

      # @return [Collector, nil] the collector of the current fiber
      # @api private
      def current = store[KEY]

      private

      # New threads and fibers inherit fiber storage (Ruby 3.2), but not fiber-local variables.
      def store = Fiber.respond_to?(:[]) ? Fiber : Thread.current

      # The probe is installed while there is a watch. The hooks stay installed, and do nothing while #current is nil.
      def listen
        NetHTTPHook.install
        FaradayHook.install
        @lock.synchronize { Instrument.add(@probe) if (@watches += 1) == 1 }
      end

      def stop_listening
        @lock.synchronize { Instrument.remove(@probe) if (@watches -= 1).zero? }
      end
    end
  end
end

require_relative "insight/railtie" if defined?(Rails::Railtie)
RSpec.configure { |config| config.include Trunkline::Insight::Matchers } if defined?(RSpec.configure)
