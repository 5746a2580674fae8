# frozen_string_literal: true

require "logger"
require "opentelemetry/sdk"
require "opentelemetry-metrics-sdk"
require "opentelemetry/instrumentation/faraday"
require "opentelemetry/instrumentation/net/http"
require_relative "tool_test"
require "trunkline/instrument/opentelemetry"

class TestOpenTelemetry < ToolTest
  EXPORTER = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
  METRICS = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new
  ENV["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http"
  ENV["OTEL_METRICS_EXPORTER"] = "none"
  OpenTelemetry::SDK.configure do |config|
    config.logger = Logger.new($stderr, level: Logger::WARN)
    config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(EXPORTER))
    config.add_metric_reader(METRICS)
    config.use "Trunkline", { request_body_size: true }
    config.use "OpenTelemetry::Instrumentation::Faraday"
    config.use "OpenTelemetry::Instrumentation::Net::HTTP"
  end

  def setup
    super
    EXPORTER.reset
    METRICS.reset
  end

  def tracer = OpenTelemetry.tracer_provider.tracer("test")
  def spans = EXPORTER.finished_spans.reject { |span| span.name == "parent" }
  def in_parent(&block) = tracer.in_span("parent", &block)

  # Runs the block with options of the instrumentation that differ from the installed ones.
  def configured(**options)
    probe = Trunkline::Instrument.probes.find { |one| one.is_a?(Trunkline::Instrument::OpenTelemetry::Spans) }
    instrumentation = OpenTelemetry::Instrumentation::Trunkline::Instrumentation.instance
    other = Trunkline::Instrument::OpenTelemetry::Spans.new(instrumentation, instrumentation.config.merge(options))
    Trunkline::Instrument.remove(probe)
    Trunkline::Instrument.add(other)
    yield
  ensure
    Trunkline::Instrument.remove(other)
    Trunkline::Instrument.add(probe)
  end

  def test_installed_by_both_names
    registry = OpenTelemetry::Instrumentation.registry

    assert_predicate registry.lookup("Trunkline"), :installed?
    assert_same registry.lookup("OpenTelemetry::Instrumentation::Trunkline"),
                OpenTelemetry::Instrumentation::Trunkline::Instrumentation.instance
  end

  def test_every_call_style_creates_one_child_span_of_the_caller
    each_call_style do |style, call|
      EXPORTER.reset
      before = server.raw_requests.size
      parent = in_parent do |span|
        call.call(client, :get, "/ok?page=1&api_key=s3cret")
        span.context
      end
      wait_until { spans.any? }
      span, *more = spans

      assert_empty more, style
      assert_equal [:client, "GET", parent.span_id, parent.trace_id],
                   [span.kind, span.name, span.parent_span_id, span.trace_id], style
      assert_equal({ "http.request.method" => "GET", "server.address" => "127.0.0.1", "server.port" => server.port,
                     "url.full" => server.url("/ok?page=1&api_key=[hidden]"), "http.response.status_code" => 200,
                     "network.protocol.version" => "1.1" }, span.attributes.except("trunkline.gvl_wait"), style)
      assert_equal "00-#{span.hex_trace_id}-#{span.hex_span_id}-01", sent("traceparent")[before], style
    end
  end

  def test_futures_of_two_parents
    http = client
    parents = Array.new(2) { in_parent { |span| [span.context.span_id, http.async.get("/ok")] } }
    parents.map(&:last).each { |future| future.value(5) }
    wait_until { spans.size == 2 }

    assert_equal parents.map(&:first).sort, spans.map(&:parent_span_id).sort
  end

  def test_userinfo_and_signatures_are_not_shown
    Trunkline.new(nil, timeout: 5).get("http://user:word@127.0.0.1:#{server.port}/ok?sig=abc&x=1")

    assert_equal server.url("/ok?sig=[hidden]&x=1"), spans.first.attributes["url.full"]
  end

  def test_template
    client.get("/users/1", template: "/users/{id}")

    assert_equal ["GET /users/{id}", "/users/{id}"], [spans.first.name, spans.first.attributes["url.template"]]
  end

  def test_unknown_method_and_the_size_of_the_body
    client.request("PURGE", "/ok", body: "12345")
    attributes = spans.first.attributes

    assert_equal "HTTP", spans.first.name
    assert_equal ["_OTHER", "PURGE", 5],
                 attributes.values_at("http.request.method", "http.request.method_original", "http.request.body.size")
  end

  def test_attempts_of_a_retry_and_of_a_redirect
    client(retry: { attempts: 2 }, raise: false).get("/failing")
    client(follow: 2).get("/moved")

    assert_equal [nil, 1, nil, 1], spans.map { |span| span.attributes["http.request.resend_count"] }
    assert_equal [503, 503, 302, 200], spans.map { |span| span.attributes["http.response.status_code"] }
    assert_equal ["503", "503", nil, nil], spans.map { |span| span.attributes["error.type"] }
    assert_equal [2, 2, 1, 1], spans.map { |span| span.status.code }
    assert_equal 4, sent("traceparent").compact.uniq.size
  end

  # The first attempt is cancelled when the second gets its response.
  def test_hedged_attempts
    each_hedged_way do |style, call|
      EXPORTER.reset
      before = server.raw_requests.size
      in_parent { call.call }
      wait_until { spans.size >= 2 }

      assert_equal [[nil, nil, "cancelled"], [1, 200, nil]],
                   spans.map { |span|
                     span.attributes.values_at("http.request.resend_count", "http.response.status_code", "error.type")
                   }, style
      assert_equal spans.map { |span| "00-#{span.hex_trace_id}-#{span.hex_span_id}-01" },
                   sent("traceparent").drop(before), style
    end
  end

  def test_errors
    assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") }
    span = spans.first

    assert_equal [2, "Trunkline::ConnectionClosed"], [span.status.code, span.attributes["error.type"]]
    assert_equal ["exception"], span.events.map(&:name)
  end

  def test_spans_of_calls
    configured(call_spans: true) do
      client(retry: { attempts: 2 }, raise: false).get("/failing")
      *attempts, call = spans

      assert_equal [:internal, %i[client client]], [call.kind, attempts.map(&:kind)]
      assert_equal [call.span_id], attempts.map(&:parent_span_id).uniq
      assert_equal "503", call.attributes["error.type"]
    end
  end

  def test_baggage_is_sent
    context = OpenTelemetry::Baggage.set_value("tenant", "7")
    OpenTelemetry::Context.with_current(context) { client.get("/ok") }

    assert_equal ["tenant=7"], sent("baggage")
  end

  def test_untraced
    OpenTelemetry::Common::Utilities.untraced { client.get("/ok") }

    assert_empty spans
    assert_equal [nil], sent("traceparent")
  end

  def test_calls_through_facades_are_reported_once
    in_parent { through_net_http }

    assert_equal ["OpenTelemetry::Instrumentation::Net::HTTP"], clients_of(spans)
    EXPORTER.reset
    in_parent { through_faraday }

    assert_equal ["OpenTelemetry::Instrumentation::Faraday"], clients_of(spans)
    EXPORTER.reset
    in_parent { through_faraday_in_parallel }

    assert_equal ["OpenTelemetry::Instrumentation::Faraday"] * 2, clients_of(spans)
  end

  def test_the_wait_for_the_gvl_is_an_attribute
    timings = client.get("/ok").timings

    assert_kind_of Float, timings.gvl
    assert_equal timings.gvl, spans.first.attributes["trunkline.gvl_wait"]
  end

  def test_metrics
    http = client
    assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") }
    http.get("/ok") # its connection stays open
    METRICS.pull
    seen = METRICS.metric_snapshots.group_by(&:name)
    ours = { "server.address" => "127.0.0.1", "server.port" => server.port }
    points = seen["http.client.request.duration"].last.data_points.select { |point| ours <= point.attributes }

    assert_equal ["Trunkline::ConnectionClosed", nil], points.map { |point| point.attributes["error.type"] }
    assert_equal [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
                 points.last.explicit_bounds
    assert_equal ["s", 200, 1], [seen["http.client.request.duration"].last.unit,
                                 points.last.attributes["http.response.status_code"], points.last.count]
    active = seen["http.client.active_requests"].last.data_points.select { |point| ours <= point.attributes }

    assert_equal [0], active.map(&:value).uniq
    open = seen["http.client.open_connections"].to_h do |metric|
      [metric.data_points.first.attributes["http.connection.state"], metric.data_points.first.value]
    end

    assert_equal %w[active idle], open.keys.sort
    assert_equal 0, open["active"]
    assert_operator open["idle"], :>=, 1
  end

  private

  # @return [Array<String>] the instrumentations that created the request spans; Net::HTTP's has one for connecting
  def clients_of(spans)
    spans.select { |span| span.kind == :client }.map { |span| span.instrumentation_scope.name }
  end
end
