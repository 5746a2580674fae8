# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"
require "active_support"
require "active_support/execution_context"
require "active_support/notifications"
require "logger"
require "stringio"
require "trunkline/instrument/active_support"

# request.trunkline, attempt.trunkline and connection.trunkline of ActiveSupport::Notifications.
class TestActiveSupportNotifications < TrunklineTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

  def teardown
    @subscribers&.each { |one| ActiveSupport::Notifications.unsubscribe(one) }
    super
  end

  def events(*names)
    events = []
    names.each do |name|
      (@subscribers ||= []) << ActiveSupport::Notifications.subscribe(name) { |event| events << event }
    end
    events
  end

  def test_every_call_style_is_reported
    events = events("request.trunkline")
    each_call_style do |style, call|
      server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.06) }
      events.clear
      call.call(client(server.url), :get, "/a?token=secret", template: "/:x")
      sleep 0.05 while events.empty?
      payload = events[0].payload
      assert_equal ["GET", server.url("/a?[hidden]"), "/:x", 200, 1],
                   payload.values_at(:method, :url, :template, :status, :attempts), style
      assert_kind_of Trunkline::Response, payload[:response], style
      assert_operator events[0].duration, :>=, 50, style
    end
  end

  def test_the_times_of_a_subscriber_with_five_arguments
    times = nil
    (@subscribers ||= []) << ActiveSupport::Notifications.subscribe("request.trunkline") do |_, start, finish, *|
      times = [start, finish]
    end
    before = Time.now
    client(serve.url).get("/")
    assert_equal [Time, Time], times.map(&:class)
    assert_operator times[0], :>=, before
    assert_operator times[1], :>=, times[0]
  end

  def test_errors
    events = events("request.trunkline")
    each_call_style do |style, call|
      events.clear
      error = call.call(client("http://127.0.0.1:#{refused_port}"), :get, "/")
      sleep 0.05 while events.empty?
      assert_equal [error.class.name, error.message], events[0].payload[:exception], style
      assert_instance_of error.class, events[0].payload[:exception_object], style
    end
  end

  def test_attempts_and_connections
    events = events("attempt.trunkline", "connection.trunkline")
    server = serve_sequence("/" => [BUSY, response_bytes])
    client(server.url, retry: { backoff: 0.001..0.002 }, max_idle: 1).get("/")
    assert_equal %w[attempt.trunkline connection.trunkline attempt.trunkline], events.map(&:name)
    assert_equal [[1, 503], [2, 200]], [events[0], events[2]].map { |event| event.payload.values_at(:number, :status) }
    assert_equal server.address, events[1].payload[:connection].address
  end

  def test_the_execution_context_of_the_caller
    events = events("request.trunkline")
    context = ActiveSupport::ExecutionContext
    context.set(job: "mine") { client(serve.url).async.get("/").value(5) }
    sleep 0.05 while events.empty?
    assert_equal({ job: "mine" }, events[0].payload[:context])
  end

  def test_the_probe_is_unused_without_subscribers
    server = serve
    probe = Trunkline::Instrument.probes.grep(Trunkline::Instrument::ActiveSupport).first
    refute_predicate probe, :wanted?
    assert_nil Trunkline::CallerContext.current
    client(server.url).get("/")
    NAMES.each do |name|
      refute_predicate probe, :wanted?
      subscriber = ActiveSupport::Notifications.subscribe(name) { nil }
      assert_predicate probe, :wanted?, name
      ActiveSupport::Notifications.unsubscribe(subscriber)
    end
    refute_predicate probe, :wanted?
  end

  NAMES = %w[request.trunkline attempt.trunkline connection.trunkline].freeze

  def test_a_subscriber_that_raises_harms_no_call
    (@subscribers ||= []) << ActiveSupport::Notifications.subscribe("request.trunkline") { raise "mine" }
    before = Trunkline.logger
    Trunkline.configure { |config| config.logger = Logger.new(StringIO.new) }
    assert_equal 200, client(serve.url).get("/").status
  ensure
    Trunkline.configure { |config| config.logger = before }
  end
end
