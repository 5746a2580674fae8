# frozen_string_literal: true

require_relative "../test_helper"

# Trunkline::Rack::Deadline in Puma, with an application that calls another service.
class TestRackDeadline < TrunklineTest
  Deadline = Trunkline::Rack::Deadline
  NOW = Time.utc(2026, 11, 23, 5, 30)

  FORMS = {
    "1.5" => 1.5, "2" => 2.0, "0" => 0.0, "-1" => -1.0, "0.250" => 0.25, "1.5s" => 1.5, "1500ms" => 1.5,
    "100m" => 0.1, "2S" => 2.0, "1M" => 60.0, "1H" => 3600.0, "250000u" => 0.25, "50000000n" => 0.05,
    "2026-11-23T05:30:01.5Z" => 1.5, "2026-11-23T06:30:02+01:00" => 2.0, "2026-11-23T05:29:00Z" => -60.0,
    "" => nil, "soon" => nil, "1,5" => nil, "1, 2" => nil, "1e3" => nil, "NaN" => nil, "Infinity" => nil, "1 s" => nil,
    "1d" => nil, "1.5m" => nil, "123456789m" => nil, "2026-11-23" => nil, "2026-11-23T05:30:00" => nil,
    "2026-99-99T05:30:00Z" => nil, "1\n" => nil, ("9" * 400) => nil, "\xFF" => nil, "\u0661" => nil
  }.freeze

  def test_the_forms_of_the_field
    FORMS.each do |text, seconds|
      given = Deadline.seconds(text.b, NOW)
      seconds ? assert_in_delta(seconds, given, 1e-6, text) : assert_nil(given, text.inspect)
    end
  end

  # An application that returns the time left, and the status of its call to the service.
  def application(service, **options)
    behind = client(service.url, deadline_header: "X-Deadline", timeout: 20)
    app = lambda do |env|
      status = behind.get(env["PATH_INFO"]).status
      [200, {}, ["#{status} #{Trunkline.deadline.left&.round}"]]
    rescue Trunkline::DeadlineExceeded => error
      [504, {}, [error.sent.to_s]]
    end
    serve_rack(&Deadline.new(app, **options).method(:call))
  end

  def test_the_deadline_bounds_calls_of_the_application
    service = serve
    front = client(application(service).url)
    response = front.get("/", headers: { "X-Deadline" => "2" })
    assert_equal "200 2", response.body
    left = Float(service.requests.last["X-Deadline"])
    assert_operator left, :<=, 2.0
    assert_operator left, :>, 1.0
  end

  def test_the_deadline_passes_from_one_service_to_the_next
    service = serve
    front = client(application(service).url, deadline_header: "X-Deadline", timeout: 20)
    assert_equal 200, Trunkline.deadline(3) { front.get("/") }.status
    assert_includes 1.5..3.0, Float(service.requests.last["X-Deadline"])
  end

  def test_a_deadline_in_the_past_returns_504
    service = serve
    front = client(application(service).url)
    ["0", "-3", (Time.now - 5).utc.iso8601].each do |text|
      response = front.get("/", headers: { "X-Deadline" => text })
      assert_equal [504, "none"], [response.status, response.body]
    end
    assert_empty service.requests
  end

  def test_a_missing_or_malformed_field_sets_no_deadline
    front = client(application(serve).url)
    assert_equal "200 ", front.get("/").body
    assert_equal "200 ", front.get("/", headers: { "X-Deadline" => "soon" }).body
    assert_equal "200 ", front.get("/", headers: { "X-Deadline" => %w[1 2] }).body
  end

  def test_a_field_of_another_name
    front = client(application(serve, header: "grpc-timeout").url)
    assert_equal "200 ", front.get("/", headers: { "X-Deadline" => "2" }).body
    assert_equal "200 2", front.get("/", headers: { "grpc-timeout" => "2S" }).body
    assert_raises(Trunkline::InvalidRequest) { Deadline.new(nil, header: "no field") }
  end

  def test_the_next_request_of_the_thread_is_free
    server = application(serve)
    front = client(server.url)
    bodies = Array.new(4) { |number| front.get("/", headers: number.even? ? { "X-Deadline" => "2" } : {}).body }
    assert_equal ["200 2", "200 "] * 2, bodies
  end
end
