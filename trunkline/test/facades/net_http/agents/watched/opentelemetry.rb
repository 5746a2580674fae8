# frozen_string_literal: true

require "logger"
require "opentelemetry/sdk"
require "opentelemetry/instrumentation/#{ENV["LEVEL"] == "faraday" ? "faraday" : "net/http"}"

# Records every span: its name, its parent and its attributes.
module Watched
  EXPORTER = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
  OpenTelemetry::SDK.configure do |config|
    config.logger = Logger.new(File::NULL)
    config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(EXPORTER))
    config.use "OpenTelemetry::Instrumentation::#{ENV["LEVEL"] == "faraday" ? "Faraday" : "Net::HTTP"}"
  end

  def self.watch(&block)
    EXPORTER.reset
    OpenTelemetry.tracer_provider.tracer("test").in_span("parent", &block)
    spans = EXPORTER.finished_spans
    spans.map { |span| said(span, spans) }
  end

  def self.said(span, spans)
    { name: span.name, kind: span.kind, attributes: span.attributes.except("faraday.adapter.name"),
      status: [span.status.code, span.status.description],
      parent: spans.find { |other| other.span_id == span.parent_span_id }&.name,
      events: span.events&.map { |event| [event.name, event.attributes.except("exception.stacktrace")] } }
  end
end
