# frozen_string_literal: true

require "opentelemetry/sdk"
require "opentelemetry-instrumentation-base"
require_relative "tool_test"

# Without the metrics API, and installed by nobody: the first client loads it.
class TestOpenTelemetryByItself < ToolTest
  EXPORTER = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new

  def test_the_first_client_installs_it
    OpenTelemetry::SDK.configure do |config|
      config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(EXPORTER))
    end
    client.get("/ok")
    # No instrumentation of theirs is there, so these calls are told here.
    through_net_http
    through_faraday

    assert_equal %w[GET GET GET], EXPORTER.finished_spans.map(&:name)
    assert_equal 3, sent("traceparent").compact.size
  end
end
