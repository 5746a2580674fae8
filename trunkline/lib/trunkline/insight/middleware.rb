# frozen_string_literal: true

module Trunkline
  module Insight
    # Rack middleware that watches the calls which an application makes for a request, warns of what it finds, and adds
    # a Panel to HTML pages. It watches a share of the requests (Insight.sample): none in production, unless asked for.
    #
    #   use Trunkline::Insight::Middleware
    #
    # What a body's #each calls when the application has returned is not seen.
    class Middleware
      include Redacted

      # @param app [#call]
      # @param panel [Boolean] whether pages get a Panel; by default in development alone
      # @param sample [Numeric, nil] the share of requests, from 0 to 1; nil: Insight.sample
      # @param min [Integer] as that of Insight.watch
      def initialize(app, panel: Insight.environment == "development", sample: nil, min: LOOP)
        @app = app
        @panel = panel
        @sample = sample
        @min = min
      end

      # @param env [Hash]
      # @return [Array] the application's answer
      def call(env)
        return @app.call(env) if rand >= (@sample || Insight.sample)

        collector = Collector.new("#{env["REQUEST_METHOD"]} #{PathShape.of(env["PATH_INFO"].to_s)}", min: @min)
        begin
          answer = Insight.collect(collector) { @app.call(env) }
        ensure
          collector.name = action(env) || collector.name
          report = Insight.finish(collector)
        end
        @panel && env["REQUEST_METHOD"] == "GET" ? Panel.add(answer, report, env) : answer
      end

      private

      # @return [String, nil] "OrdersController#index", of Rails
      def action(env)
        controller = env["action_controller.instance"]
        "#{controller.class.name}##{controller.action_name}" if controller.respond_to?(:action_name)
      end
    end
  end
end
