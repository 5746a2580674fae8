# frozen_string_literal: true

require "sentry-ruby"
require "logger"

Sentry.init do |config|
  config.dsn = "http://key@sentry.invalid/1"
  config.sdk_logger = Logger.new(File::NULL) if config.respond_to?(:sdk_logger=)
  config.transport.transport_class = Sentry::DummyTransport
  config.background_worker_threads = 0
  config.traces_sample_rate = 1.0
  config.breadcrumbs_logger = [:http_logger]
  config.auto_session_tracking = false
  config.enabled_patches = [ENV["LEVEL"] == "faraday" ? :faraday : :http]
end

# Records the spans of a transaction and its breadcrumbs.
module Watched
  def self.watch
    transport = Sentry.get_current_client.transport
    transport.events.clear
    Sentry.with_scope do |scope|
      transaction = Sentry.start_transaction(name: "case", op: "test")
      scope.set_span(transaction)
      yield
      transaction.finish
      { spans: transport.events.flat_map { |event| event.spans.map { |span| said(span) } },
        breadcrumbs: scope.breadcrumbs.to_h[:values]&.map { |crumb| crumb.except(:timestamp) } }
    end
  end

  def self.said(span) = span.slice(:op, :description, :status, :tags, :data, :origin)
end
