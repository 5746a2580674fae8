# frozen_string_literal: true

require "opentelemetry/sdk"
require "opentelemetry-instrumentation-base"

EXPORTER = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
OpenTelemetry::SDK.configure do |config|
  config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(EXPORTER))
end

require_relative "tool_test"

# Trunkline's instrumentation is loaded after OpenTelemetry was configured, and without the metrics API.
class TestOpenTelemetryByItself < ToolTest
  def test_the_instrumentation_installs_itself
    client.get("/ok")
    # The instrumentations of Net::HTTP and Faraday are not installed, so Trunkline reports these calls.
    through_net_http
    through_faraday

    assert_equal %w[GET GET GET], EXPORTER.finished_spans.map(&:name)
    assert_equal 3, sent("traceparent").compact.size
  end
end
