# frozen_string_literal: true

ENV["RAILS_ENV"] = "production"
require "action_controller/railtie"
require "logger"
require "trunkline/insight"
require_relative "../clock"

module Trunkline
  module Lab
    module Origins
      # A small Rails application with a page that makes many calls to a second service: one after another, or as
      # Trunkline::Insight advises. It returns as JSON how long the calls took, and what Insight has found.
      class OrdersPage
        # The minimal settings for Rails.
        class Application < ::Rails::Application
          config.load_defaults("#{::Rails::VERSION::MAJOR}.#{::Rails::VERSION::MINOR}")
          config.eager_load = true
          config.logger = ::Logger.new(nil)
          config.secret_key_base = "lab"
          config.hosts.clear
        end

        # The page before and after the change, and the finding in between.
        class OrdersController < ActionController::Base
          class << self
            attr_accessor :client, :paths
          end

          def index = render_timing { paths.map { |path| client.get(path) } }
          def batch = render_timing { client.map(paths).to_a }

          # Returns the finding of the last request that had one, and clears the reports.
          def found
            finding = Insight.report.reports.last&.findings&.find { |one| one.kind == :loop }
            Insight.clear
            render json: finding ? finding.to_h.slice(:seconds, :estimate, :advice).merge(text: finding.to_s) : {}
          end

          private

          def client = self.class.client
          def paths = self.class.paths

          def render_timing
            began = Clock.now
            responses = yield
            render json: { seconds: Clock.now - began, good: responses.count { |response| response.status == 200 } }
          end
        end

        # @param base [String] of the second service
        # @param path [String] on the second service
        # @param calls [Integer] per page
        def initialize(base:, path:, calls:)
          OrdersController.client = ::Trunkline.new(base, timeout: 10)
          OrdersController.paths = Array.new(calls) { |number| "#{path}?id=#{number + 1}" }
          Insight.sample = 1.0
          Application.initialize!
          Application.routes.draw do
            %w[index batch found].each { |name| get "/#{name}", to: OrdersController.action(name) }
          end
        end

        def call(env) = Application.call(env)
      end
    end
  end
end
