# frozen_string_literal: true

require_relative "../../test_helper"
require "stringio"
require "logger"
require "trunkline/faraday"
require "faraday/follow_redirects"
require "faraday/multipart"
require "faraday/net_http"
require "faraday/retry"

# The Faraday adapter on real sockets: responses compared with those of :net_http, errors, streams, middleware.
class TestFaradayAdapter < TrunklineTest
  def faraday(url = nil, adapter: :trunkline, adapter_options: {}, config: nil, **options, &block)
    connection = Faraday.new(url, { request: { timeout: DEFAULT_TIMEOUT }, **options }) do |builder|
      block&.call(builder)
      builder.adapter(adapter, **adapter_options, &config)
    end
    opened(connection)
  end

  # Responses of this adapter compared with those of :net_http.
  ANSWERS = {
    plain: ["hello", {}],
    reason: ["x", { status: "404 No Such Thing" }],
    no_reason: ["x", { status: "200" }],
    empty_reason: ["x", { status: "200 " }],
    text: ["h\xC3\xA9", { "Content-Type" => "text/plain; charset=utf-8" }],
    latin1: ["h\xE9".b, { "Content-Type" => "text/plain; charset=\"ISO-8859-1\"" }],
    unknown_charset: ["x", { "Content-Type" => "text/plain; charset=klingon" }],
    json: ["{\"a\":\"\xC3\xA9\"}", { "Content-Type" => "application/json" }],
    binary: ["\x00\xFF".b, { "Content-Type" => "application/octet-stream" }],
    empty: ["", {}]
  }.freeze

  ANSWERS.each do |name, (body, options)|
    define_method(:"test_the_same_as_net_http_for_#{name}") do
      assert_same_response(response_bytes(body, **options))
    end
  end

  def test_the_same_as_net_http_for_repeated_fields
    assert_same_response(response_bytes("ok", "Set-Cookie" => "a=1", "set-cookie" => "b=2", "X-Empty" => ""))
  end

  def test_the_same_as_net_http_for_compressed_bodies
    zipped = Zlib.gzip("hello " * 100)
    assert_same_response(response_bytes(zipped, "Content-Encoding" => "gzip"))
    assert_same_response(response_bytes(zipped, "Content-Encoding" => "gzip"), headers: { "Accept-Encoding" => "gzip" })
  end

  def test_the_same_as_net_http_for_chunks
    assert_same_response(chunked_response("one", "two", trailers: { "X-Sum" => "1" }))
  end

  def test_the_same_as_net_http_for_responses_without_a_body
    assert_same_response("HTTP/1.1 204 No Content\r\n\r\n")
    assert_same_response(response_bytes("five5"), method: :head)
  end

  def assert_same_response(bytes, method: :get, headers: {})
    seen = %i[net_http trunkline].map do |adapter|
      bytes_of_head = method == :head ? bytes.split("\r\n\r\n").first + "\r\n\r\n" : bytes
      response = faraday(serve(bytes_of_head).url, adapter: adapter).run_request(method, "/", nil, headers)
      [response.status, response.reason_phrase, response.headers.to_h.transform_keys(&:downcase), response.body,
       response.body.encoding]
    end
    assert_equal(*seen)
  end

  def test_requests_arrive_as_they_were_made
    server = serve
    connection = faraday(server.url("/base"), headers: { "X-A" => "1" }) { |builder| builder.request :url_encoded }
    connection.get("x", { q: "a b" }, { "X-B" => 2 })
    connection.post("/y", { a: { b: "1" } })
    connection.put("/z", "text", "Content-Type" => "text/plain")
    connection.delete("/d")
    connection.post("/empty")
    lines = server.raw_requests.map { |raw| raw.lines.first.chomp }
    assert_equal ["GET /base/x?q=a+b HTTP/1.1", "POST /y HTTP/1.1", "PUT /z HTTP/1.1", "DELETE /d HTTP/1.1",
                  "POST /empty HTTP/1.1"], lines
    assert_match(/^X-A: 1\r\n/i, server.raw_requests[0])
    assert_match(/^X-B: 2\r\n/i, server.raw_requests[0])
    assert_equal "a%5Bb%5D=1", server.raw_requests[1].split("\r\n\r\n").last
    assert_match(/^Content-Length: 0\r\n/i, server.raw_requests[4])
    assert_equal 1, server.connection_count
  end

  def test_params_are_encoded_by_the_configured_encoder
    server = serve
    targets = [nil, Faraday::FlatParamsEncoder].flat_map do |encoder|
      options = { timeout: DEFAULT_TIMEOUT, params_encoder: encoder }.compact
      %i[net_http trunkline].map do |adapter|
        faraday(server.url, request: options, adapter: adapter).get("/", a: [1, 2], b: "x y")
        server.requests.last.target
      end
    end
    assert_equal ["/?a%5B%5D=1&a%5B%5D=2&b=x+y"] * 2 + ["/?a=1&a=2&b=x+y"] * 2, targets
  end

  def test_middleware_sees_requests_and_responses_in_its_order
    seen = []
    layer = Class.new(Faraday::Middleware) do
      define_method(:on_request) { |env| seen << [:request, options[:name], env.method] }
      define_method(:on_complete) { |env| seen << [:complete, options[:name], env.status] }
    end
    faraday(serve.url) { |builder| %i[outer inner].each { |name| builder.use(layer, name: name) } }.get("/")
    assert_equal [%i[request outer get], %i[request inner get], [:complete, :inner, 200],
                  [:complete, :outer, 200]], seen
  end

  def test_bodies_are_read_from_an_io
    server = serve
    connection = faraday(server.url)
    connection.post("/", StringIO.new("from an io"))
    connection.post("/", StringIO.new("in chunks"), "Transfer-Encoding" => "chunked")
    assert_match(/^Content-Length: 10\r\n.*from an io\z/mi, server.raw_requests[0])
    assert_match(/^Transfer-Encoding: chunked\r\n.*in chunks/mi, server.raw_requests[1])
  end

  # Behaves like net_http: google-apis sets Content-Length to the size of a later upload.
  def test_content_length_is_the_length_of_the_string_in_spite_of_the_header
    server = serve
    %w[Content-Length CONTENT-LENGTH].product(["", "text"]) do |name, body|
      faraday(server.url).post("/", body, name => "440000")
    end
    assert_equal ["", "text"] * 2, server.requests.map(&:body)
  end

  def test_streaming
    body = "0123456789" * 20_000
    server = serve(response_bytes(body, "Content-Type" => "text/plain"))
    seen = []
    response = faraday(server.url).get("/") do |request|
      request.options.on_data = proc do |chunk, size, env|
        seen << [chunk, size, env.status, env.response_headers["content-type"]]
      end
    end
    assert_operator seen.size, :>, 1
    assert_equal [body, body.bytesize, 200, "text/plain"], [seen.map(&:first).join, *seen.last[1..]]
    assert_equal "", response.body
  end

  def test_on_data_is_called_once_for_an_empty_stream
    seen = []
    faraday(serve(response_bytes("")).url).get("/") do |request|
      request.options.on_data = proc { |chunk, size| seen << [chunk, size] }
    end
    assert_equal [["", 0]], seen
  end

  def test_an_exception_of_on_data_is_raised_to_the_caller
    connection = faraday(serve(response_bytes("abc")).url)
    assert_raises(KeyError) do
      connection.get("/") { |request| request.options.on_data = proc { raise KeyError, "mine" } }
    end
  end

  def test_a_stream_that_breaks_off
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :close]])
    seen = []
    error = assert_raises(Faraday::ConnectionFailed) do
      faraday(server.url).get("/") { |request| request.options.on_data = proc { |chunk, _| seen << chunk } }
    end
    assert_kind_of Trunkline::TruncatedBody, error.wrapped_exception
    assert_equal "half", seen.join
  end

  def test_a_refused_connection
    error = assert_raises(Faraday::ConnectionFailed) { faraday("http://127.0.0.1:#{refused_port}").get("/") }
    assert_kind_of Trunkline::ConnectError, error.wrapped_exception
    assert_equal :none, error.wrapped_exception.sent
  end

  def test_a_connection_that_closes_is_not_tried_again
    server = serve { |connection| connection.read_request && connection.close }
    error = assert_raises(Faraday::ConnectionFailed) { faraday(server.url).post("/", "once") }
    assert_equal [1, :all], [server.requests.size, error.wrapped_exception.sent]
  end

  TIMEOUTS = {
    { timeout: 0.2 } => Trunkline::TotalTimeout,
    { read_timeout: 0.2 } => Trunkline::FirstByteTimeout,
    { timeout: 5, read_timeout: 0.2 } => Trunkline::FirstByteTimeout
  }.freeze

  TIMEOUTS.each do |options, error_class|
    define_method(:"test_timeout_by_#{options.keys.join("_and_")}") do
      server = serve { |connection| connection.read_request && connection.stall }
      seconds, error = raised_after(Faraday::TimeoutError) { faraday(server.url, request: options).get("/") }
      assert_instance_of error_class, error.wrapped_exception
      assert_took_less 2, seconds
      assert_attempts 1, server, settle: 0
    end
  end

  def translated(request = {})
    Trunkline::Facades::Faraday::Options.client_options(Faraday::RequestOptions.from(request), Faraday::SSLOptions.new)
  end

  def test_how_timeouts_are_read
    assert_equal({ timeout: 60 }, translated.slice(:timeout))
    assert_equal 7, translated({ timeout: 7 })[:timeout][:total]
    assert_nil translated({ timeout: 7 })[:timeout][:connect]
    open = translated({ open_timeout: 2 })[:timeout]
    assert_equal [2, 2, 2, 60, 60, nil], open.values_at(:resolve, :connect, :tls, :first_byte, :write, :total)
    both = translated({ timeout: 9, open_timeout: 2, write_timeout: 3, read_timeout: 4 })[:timeout]
    assert_equal [2, 3, 4, 4, 9], both.values_at(:connect, :write, :first_byte, :read, :total)
  end

  def test_a_timeout_can_be_required
    connection = faraday(serve.url, request: {}, adapter_options: { require_timeout: true })
    assert_match(/open_timeout/, assert_raises(Trunkline::MissingTimeout) { connection.get("/") }.message)
    assert_equal 200, connection.get("/") { |request| request.options.timeout = 2 }.status
  end

  def test_adapter_options_and_the_config_block_reach_the_client
    server = serve(response_bytes("x" * 100))
    assert_raises(Faraday::ConnectionFailed) { faraday(server.url, adapter_options: { max_body_bytes: 10 }).get("/") }
    configure = ->(client) { client.max_body_bytes = 10 }
    assert_raises(Faraday::ConnectionFailed) { faraday(server.url, config: configure).get("/") }
    assert_raises(Trunkline::InvalidRequest) { faraday(server.url, adapter_options: { concurency: 1 }).get("/") }
  end

  def test_closed_connections_can_be_used_again
    server = serve
    connection = faraday(server.url)
    connection.get("/")
    connection.close
    connection.get("/")
    assert_equal 2, server.connection_count
  end

  def test_a_proxy_carries_requests_and_gets_its_credentials
    proxy = serve(response_bytes("by proxy"))
    given = { uri: proxy.url, user: "me", password: "p@ss:1" }
    assert_equal "by proxy", faraday("http://api.test", proxy: given).get("/x").body
    assert_match(%r{\AGET http://api.test/x HTTP/1.1\r\n}, proxy.raw_requests.first)
    assert_match(/^Proxy-Authorization: Basic #{["me:p@ss:1"].pack("m0")}\r\n/i, proxy.raw_requests.first)
  end

  def test_a_proxy_of_the_environment_is_used_unless_faraday_ignores_it
    proxy = serve(response_bytes("by proxy"))
    server = serve(response_bytes("direct"))
    with_environment("http_proxy" => proxy.url, "no_proxy" => nil) do
      assert_equal "by proxy", faraday("http://api.test").get("/").body
      Faraday.ignore_env_proxy = true
      assert_equal "direct", faraday(server.url).get("/").body
    end
  ensure
    Faraday.ignore_env_proxy = false
  end

  def with_environment(changes)
    before = changes.keys.to_h { |name| [name, ENV.fetch(name, nil)] }
    ENV.update(changes)
    yield
  ensure
    ENV.update(before)
  end

  def test_a_407_of_a_proxy_is_a_response
    proxy = serve(response_bytes("who?", status: "407 Proxy Authentication Required", "Proxy-Authenticate" => "Basic"))
    connection = faraday("http://api.test", proxy: proxy.url)
    response = connection.get("/")
    assert_equal [407, "who?", "Basic"], [response.status, response.body, response.headers["Proxy-Authenticate"]]
    raising = faraday("http://api.test", proxy: proxy.url) { |builder| builder.response :raise_error }
    assert_raises(Faraday::ProxyAuthError) { raising.get("/") }
  end

  def test_the_local_address
    server = serve_rack { |env| [200, {}, [env["REMOTE_ADDR"]]] }
    bind = { host: "127.0.0.2", port: 0 }
    assert_equal "127.0.0.2", faraday(server.url, request: { bind: bind, timeout: 5 }).get("/").body
  end

  def test_trace_with_a_body
    server = serve
    faraday(server.url).trace("/x") { |request| request.body = "text" }
    assert_match(%r{\ATRACE /x HTTP/1.1\r\nHost: 127.0.0.1:\d+\r\n.*\r\n\r\ntext\z}m, server.raw_requests.first)
  end

  # Middleware.

  def test_retry
    server = serve(script: [[:read, response_bytes("no", status: "503 Busy"), :read, response_bytes("yes")]])
    connection = faraday(server.url) { |builder| builder.request :retry, max: 2, interval: 0.01, retry_statuses: [503] }
    assert_equal ["yes", 2], [connection.get("/").body, server.requests.size]
  end

  def test_a_retry_sends_the_content_again
    server = serve(script: [[:read, response_bytes("no", status: "503 Busy"), :read, response_bytes("yes")]])
    connection = faraday(server.url) { |builder| builder.request :retry, max: 2, interval: 0.01, retry_statuses: [503] }
    assert_equal "yes", connection.put("/", "content").body
    assert_equal %w[content content], server.requests.map(&:body)
  end

  # After a response, Faraday's env.body is the response's body; a body that middleware then assigns is the next
  # request's.
  def test_middleware_may_send_another_body_after_a_response
    server = serve
    twice = Class.new(Faraday::Middleware) do
      def call(env)
        @app.call(env)
        env.body = "second"
        @app.call(env)
      end
    end
    faraday(server.url) { |builder| builder.use(twice) }.put("/", "first")
    assert_equal %w[first second], server.requests.map(&:body)
  end

  def test_middleware_may_give_fields_in_a_hash_of_its_own
    server = serve
    fields = { cookie: "a=1", "content-length" => "99", "X-Own" => "1" }
    replacing = Class.new(Faraday::Middleware) { define_method(:on_request) { |env| env.request_headers = fields } }
    faraday(server.url) { |builder| builder.use(replacing) }.put("/", "text")
    assert_match(/^cookie: a=1\r\nX-Own: 1\r\n.*^Content-Length: 4\r\n\r\ntext\z/m, server.raw_requests.first)
  end

  def test_retry_of_what_failed
    server = serve(script: [%i[read close], [:read, response_bytes("yes")]])
    connection = faraday(server.url) do |builder|
      builder.request :retry, max: 2, interval: 0.01, exceptions: [Faraday::ConnectionFailed]
    end
    assert_equal "yes", connection.get("/").body
  end

  def test_redirects
    server = serve(script: [[:read, redirect("/there"), :read, response_bytes("there")]])
    assert_equal "there", faraday(server.url) { |builder| builder.response :follow_redirects }.get("/").body
  end

  def test_multipart
    server = serve
    part = Faraday::Multipart::FilePart.new(StringIO.new("content"), "text/plain", "a.txt")
    faraday(server.url) { |builder| builder.request :multipart }.post("/", file: part)
    assert_match(/filename="a.txt".*content/m, server.raw_requests.first)
  end

  def test_logger_and_raise_error
    log = StringIO.new
    connection = faraday(serve(response_bytes("no", status: "404 Not Found")).url) do |builder|
      builder.response :raise_error
      builder.response :logger, Logger.new(log)
    end
    assert_raises(Faraday::ResourceNotFound) { connection.get("/x") }
    assert_match(%r{GET http://127.0.0.1:\d+/x}, log.string)
  end

  # in_parallel.

  def test_parallel_requests_run_at_once
    probe = ConcurrencyProbe.new(5)
    server = serve_rack { |env| probe.wait && [200, {}, [env["PATH_INFO"]]] }
    connection = faraday(server.url)
    responses = nil
    connection.in_parallel do
      responses = Array.new(5) { |index| connection.get("/#{index}") }
      assert_nil responses.first.status
    end
    assert_equal (0...5).map { |index| "/#{index}" }, responses.map(&:body)
    assert_equal 5, probe.most
    assert responses.all?(&:finished?)
  end

  def test_parallel_keeps_to_its_concurrency
    probe = ConcurrencyProbe.new(2, 12)
    server = serve_rack(threads: 5) { probe.wait && [200, {}, ["ok"]] }
    connection = faraday(server.url, adapter_options: { concurrency: 2 })
    responses = []
    connection.in_parallel { 12.times { responses << connection.get("/") } }
    assert_equal [12, 2], [responses.count(&:success?), probe.most]
  end

  def test_callbacks_may_add_requests
    server = serve
    connection = faraday(server.url)
    seen = []
    connection.in_parallel do
      connection.get("/1").on_complete do
        seen << 1
        connection.get("/2").on_complete { seen << 2 }
      end
    end
    assert_equal [1, 2], seen
  end

  def test_failures_in_parallel_are_raised_when_all_are_done
    server = serve_rack { |env| env["PATH_INFO"] == "/bad" ? [500, {}, ["bad"]] : [200, {}, ["ok"]] }
    connection = faraday(server.url) { |builder| builder.response :raise_error }
    good = nil
    error = assert_raises(Faraday::Error) do
      connection.in_parallel do
        connection.get("http://127.0.0.1:#{refused_port}/")
        connection.get("/bad")
        good = connection.get("/")
      end
    end
    assert_equal 200, good.status
    classes = [error, *error.others].map(&:class)
    assert_equal [Faraday::ConnectionFailed, Faraday::ServerError].sort_by(&:name), classes.sort_by(&:name)
    refute_predicate connection, :in_parallel?
  end

  def test_an_error_in_the_block_sends_nothing
    server = serve
    connection = faraday(server.url)
    assert_raises(KeyError) { connection.in_parallel { connection.get("/") && {}.fetch(:a) } }
    assert_empty server.requests
    connection.in_parallel { connection.get("/after") }
    assert_equal 1, server.requests.size
  end

  # Faraday's shared examples for adapters need RSpec and WebMock, so they run in a separate process.
  def test_the_specs_that_faraday_ships_for_adapters
    spec = File.expand_path("adapter_spec.rb", __dir__)
    rspec = [Gem.bin_path("rspec-core", "rspec"), "--no-color", "--options", File::NULL]
    command = [RbConfig.ruby, "-I", Subprocess::LIB, *rspec, spec]
    out, err, status = Subprocess.run_command({ "http_proxy" => nil, "no_proxy" => nil }, command)
    assert_predicate status, :success?, "#{out.lines.last(80).join}#{err}"
    assert_match(/\A[1-9]\d{2} examples, 0 failures/, out.lines.grep(/examples,/).last)
  end
end
