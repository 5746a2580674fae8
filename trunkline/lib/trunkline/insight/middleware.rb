# frozen_string_literal: true

module Trunkline
  module Insight
    # Rack middleware that watches the calls which an application makes during a request, logs a warning with the
    # findings, and adds a Panel to HTML pages. It watches a share of the requests: none in production, unless sample:
    # or Insight.sample is set.
    #
    #   use Trunkline::Insight::Middleware
    #
    # Calls made by the body's #each, after the application has returned, are not watched.
    class Middleware
      include Redacted

      # @param app [#call]
      # @param panel [Boolean] whether pages get a Panel; by default only in development
      # @param sample [Numeric, nil] the share of requests, from 0 to 1; nil for Insight.sample
      # @param min [Integer] see Insight.watch
      def initialize(app, panel: Insight.environment == "development", sample: nil, min: LOOP)
        @app = app
        @panel = panel
        @sample = sample
        @min = min
      end

      # @param env [Hash]
      # @return [Array] the application's response
      def call(env)
        return @app.call(env) if rand >= (@sample || Insight.sample)

        collector = Collector.new("#{env["REQUEST_METHOD"]} #{PathShape.of(env["PATH_INFO"].to_s)}", min: @min)
        begin
          response = Insight.collect(collector) { @app.call(env) }
        ensure
          collector.name = action(env) || collector.name
          report = Insight.finish(collector)
        end
        @panel && env["REQUEST_METHOD"] == "GET" ? Panel.add(response, report, env) : response
      end

      private

      # @return [String, nil] "OrdersController#index" in Rails
      def action(env)
        controller = env["action_controller.instance"]
        "#{controller.class.name}##{controller.action_name}" if controller.respond_to?(:action_name)
      end
    end
  end
end
