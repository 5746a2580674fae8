# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"

# The option use:.
class TestMiddleware < TrunklineTest
  include CallStyles

  # Records the requests that it sees.
  class Recorder
    attr_reader :seen

    def initialize(name)
      @name = name
      @seen = []
    end

    def call(request, forward)
      @seen << "#{@name} #{request.method} #{request.url}"
      forward.call(request).tap { |response| @seen << "#{@name} #{response.status}" }
    end
  end

  def tagging(value) = ->(request, forward) { forward.call(request.with(headers: { "X-Tag" => value })) }

  def test_outermost_first_on_a_client_with_and_a_call
    each_call_style do |style, call|
      server = serve
      order = []
      named = ->(name) { ->(request, forward) { (order << name) && forward.call(request) } }
      http = client(server.url, use: [named["a"], named["b"]]).with(use: named["c"])
      call.call(http, :get, "/", use: [named["d"]])
      assert_equal %w[a b c d], order, style
      call.call(http, :get, "/", use: false)
      assert_equal 4, order.size, style
    end
  end

  def test_an_object
    each_call_style do |style, call|
      server = serve
      recorder = Recorder.new("r")
      call.call(client(server.url, use: recorder), :get, "/x")
      assert_equal ["r GET #{server.url("/x")}", "r 200"], recorder.seen, style
    end
  end

  # The exchange has only the time that the middleware has left.
  def test_a_total_timeout_reports_the_configured_time
    each_call_style do |style, call|
      http = client(serve(&:stall).url, timeout: 0.5, use: ->(request, forward) { sleep(0.2) && forward.call(request) })
      error = call.call(http, :get, "/")
      assert_instance_of Trunkline::TotalTimeout, error, style
      assert_match(/ did not end within 0.5 s /, error.message, style)
      assert_took 0.5, error.elapsed, 0.2
    end
  end

  def test_changing_the_request
    other = serve(response_bytes("other"))
    change = lambda do |request, forward|
      forward.call(request.with(url: other.url("/new"), method: :put, headers: { "X-Tag" => "t", "X-Gone" => nil },
                                body: "changed"))
    end
    each_call_style do |style, call|
      fields = { "X-Gone" => "1", "X-Kept" => "2", "Content-Type" => "text/plain" }
      http = client(serve.url, use: change, bearer: "secret")
      response = call.call(http, :post, "/", body: "first", headers: fields)
      assert_equal "other", response.body, style
      request = other.requests.last
      assert_equal ["PUT /new", "changed"], [request.raw[/\A\S+ \S+/], request.body], style
      fields = %w[X-Tag X-Gone X-Kept Authorization Content-Type Host].map { |name| request[name] }
      assert_equal ["t", nil, "2", nil, "text/plain", other.address], fields, style
    end
  end

  def test_a_middleware_may_respond_without_forwarding
    responding = lambda do |request, _|
      Trunkline::Response.build(request: request, status: 203, headers: { "X-Made" => "1" }, body: "made")
    end
    each_call_style do |style, call|
      server = serve
      response = call.call(client(server.url, use: responding), :get, "/")
      assert_equal [203, "made", "1"], [response.status, response.body, response["X-Made"]], style
      assert_empty server.requests, style
    end
    chunks = []
    client(serve.url, use: responding).get("/") { |chunk| chunks << chunk }
    assert_equal "made", chunks.join
  end

  def test_raising
    each_call_style do |style, call|
      error = begin
        call.call(client(serve.url, use: ->(_, _) { raise ArgumentError, "no" }), :get, "/")
      rescue ArgumentError => error
        error
      end
      assert_equal [ArgumentError, "no"], [error.class, error.message], style
    end
  end

  def test_forwarding_twice
    twice = ->(request, forward) { Array.new(2) { forward.call(request) }.last }
    each_call_style do |style, call|
      server = serve_sequence("/" => [response_bytes("first"), response_bytes("second")])
      response = call.call(client(server.url, use: twice), :post, "/", body: "x")
      assert_equal "second", response.body, style
      assert_equal %i[first again], response.attempts.map(&:reason), style
      assert_equal %w[x x], server.requests.map(&:body), style
    end
  end

  def test_a_streamed_body_cannot_be_forwarded_twice
    twice = ->(request, forward) { Array.new(2) { forward.call(request) }.last }
    each_call_style do |style, call|
      error = call.call(client(serve.url, use: twice), :post, "/", body: %w[a b].each)
      assert_instance_of Trunkline::BodyError, error, style
    end
  end

  def test_rescuing_an_error
    saving = lambda do |request, forward|
      forward.call(request)
    rescue Trunkline::ConnectError
      Trunkline::Response.build(request: request, status: 200, body: "saved")
    end
    each_call_style do |style, call|
      assert_equal "saved", call.call(client("http://127.0.0.1:#{refused_port}", use: saving), :get, "/").body, style
    end
  end

  def test_a_waiting_middleware_does_not_delay_other_requests
    waiting = ->(request, forward) { Trunkline.sleep(0.3) || forward.call(request) }
    http = client(serve.url, use: waiting)
    began = Trunkline::Engine.now
    assert_equal [200] * 20, http.map(["/"] * 20, concurrency: 20).map(&:status)
    assert_operator Trunkline::Engine.now - began, :<, 3
    began = Trunkline::Engine.now
    http.get("/")
    assert_operator Trunkline::Engine.now - began, :>=, 0.3
  end

  def test_a_body_for_signing
    bodies = []
    signing = ->(request, forward) { (bodies << request.body_string) && nil || forward.call(request) }
    http = client(serve.url, use: signing)
    http.post("/", json: { a: 1 })
    http.post("/", form: { b: 2 })
    http.post("/", body: "text")
    http.get("/")
    http.post("/", body: %w[a b].each)
    assert_equal ['{"a":1}', "b=2", "text", "", nil], bodies
  end

  def test_redirects_are_followed_within
    recorder = Recorder.new("r")
    server = serve_sequence("/" => [redirect("/b")], "/b" => [response_bytes])
    response = client(server.url, use: recorder, follow: true).get("/")
    assert_equal [1, 2], [response.redirects.size, recorder.seen.size]
  end

  def test_removing_the_content
    removing = ->(request, forward) { forward.call(request.with(method: "GET", body: nil)) }
    each_call_style do |style, call|
      server = serve
      fields = { "Content-Type" => "text/plain" }
      call.call(client(server.url, use: removing), :post, "/", body: "first", headers: fields)
      request = server.requests.last
      assert_equal ["GET /", ""], [request.raw[/\A\S+ \S+/], request.body.to_s], style
      assert_nil request["Content-Type"], style
      assert_nil request["Content-Length"], style
    end
  end

  def test_invalid_values_of_a_middleware_are_refused
    { ->(_, _) {} => /use: must be a middleware that returns a Response, got NilClass/,
      ->(_, forward) { forward.call("x") } => /forward: must be a Request, got String/,
      ->(request, forward) { forward.call(request.with(method: "GET /")) } => /method: must be/,
      ->(request, _) { request.with(url: "ftp://a") } => /url: must be/ }.each do |middleware, message|
      each_call_style(but: [:streamed]) do |style, call|
        error = call.call(client(serve.url, use: middleware), :get, "/")
        assert_instance_of Trunkline::InvalidRequest, error, style
        assert_match message, error.message, style
      end
    end
  end

  def test_a_value_that_is_no_middleware_is_refused
    [3, ->(one) { one }, [:sym]].each do |value|
      error = assert_raises(Trunkline::InvalidRequest) { client("http://a.test", use: value) }
      assert_match(/use: /, error.message)
    end
  end

  def test_a_request_is_frozen
    frozen = nil
    client(serve.url, use: ->(request, forward) { (frozen = request.frozen?) && forward.call(request) }).get("/")
    assert frozen
  end
end
