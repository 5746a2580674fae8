# frozen_string_literal: true

require_relative "../../test_helper"
require "net/http"
require "stringio"
require "zlib"
require "trunkline/net_http"

# Net::HTTP after install! compared with Net::HTTP before: the same bytes sent and the same results for the caller.
class TestNetHTTP < TrunklineTest
  GZIP = Zlib.gzip("grüße" * 100)

  # path => its response
  ANSWERS = {
    "/text" => Responses.response_bytes("plain text", "Content-Type" => "text/plain; charset=utf-8", "X-Two" => "a"),
    "/bytes" => Responses.response_bytes("\xFF\xFEbytes".b),
    "/empty" => Responses.response_bytes(""),
    "/chunked" => Responses.chunked_response("one", "two", trailers: { "X-Sum" => "1" }),
    "/gzip" => Responses.response_bytes(GZIP, "Content-Encoding" => "gzip"),
    "/gzip-chunked" => Responses.chunked_response(GZIP[0, 20], GZIP[20..], "Content-Encoding" => "gzip"),
    "/identity" => Responses.response_bytes("as it is", "Content-Encoding" => "identity"),
    "/unknown" => Responses.response_bytes("coded", "Content-Encoding" => "rot13"),
    "/none" => "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
    "/unmodified" => "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n",
    "/missing" => Responses.response_bytes("gone", status: "404 Not Found"),
    "/broken" => Responses.response_bytes("sorry", status: "503 Service Unavailable"),
    "/moved" => Responses.redirect("/text"),
    "/odd" => Responses.response_bytes("odd", status: "299 Own Words"),
    "/fields" => "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok",
    "/early" => "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".b + Responses.response_bytes("late"),
    "/old" => "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end"
  }.freeze

  # Arguments of Net::HTTP's own methods, called in one started session.
  CALLS = {
    get: ->(http) { http.get("/text") },
    target_as_given: ->(http) { http.get("/a/../b//c|d?q=[1]&x=%zz&y=a'b") },
    asterisk: ->(http) { http.options("*") },
    absolute: ->(http) { http.get("http://elsewhere.test/text?a=1") },
    odd_capitals: ->(http) { http.get("/text", "x-ODD-name" => "1", "X-Empty" => "", "accept" => "text/html") },
    deleted: lambda do |http|
      request = Net::HTTP::Get.new("/text")
      %w[Accept User-Agent Accept-Encoding].each { |name| request.delete(name) }
      http.request(request)
    end,
    several_values: lambda do |http|
      request = Net::HTTP::Get.new("/text")
      request.add_field("X-Many", "a")
      request.add_field("X-Many", "b")
      http.request(request)
    end,
    own_host: ->(http) { http.get("/text", "Host" => "other.test") },
    credentials: ->(http) { http.request(Net::HTTP::Get.new("/text").tap { |get| get.basic_auth("a", "b:c") }) },
    head: ->(http) { http.head("/text") },
    post: ->(http) { http.post("/text", "a=1") },
    post_typed: ->(http) { http.post("/text", "{}", "Content-Type" => "application/json") },
    post_nothing: ->(http) { http.request(Net::HTTP::Post.new("/text")) },
    form: ->(http) { http.request(Net::HTTP::Post.new("/text").tap { |post| post.set_form_data(a: "ä b", c: 1) }) },
    put: ->(http) { http.put("/text", "\xFF".b * 100_000) },
    patch: ->(http) { http.patch("/text", "p") },
    delete: ->(http) { http.delete("/text") },
    delete_with_body: ->(http) { http.request(Net::HTTP::Delete.new("/text"), "why") },
    propfind: ->(http) { http.propfind("/text", "<a/>") },
    own_method: ->(http) { http.send_request("PURGE", "/text") },
    stream: lambda do |http|
      http.request(Net::HTTP::Post.new("/text").tap do |request|
        request.body_stream = StringIO.new("s" * 100_000)
        request.content_length = 100_000
      end)
    end,
    multipart: lambda do |http|
      http.request(Net::HTTP::Post.new("/text").tap do |request|
        request.set_form([%w[a 1], ["f", StringIO.new("file"), { filename: "ü.txt" }]],
                         "multipart/form-data", boundary: "xyz")
      end)
    end,
    range: ->(http) { http.get("/text", "Range" => "bytes=0-3") },
    uri: ->(http) { http.request(Net::HTTP::Get.new(URI("http://#{http.address}:#{http.port}/text?u=1"))) }
  }.freeze

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  end

  CALLS.each do |name, call|
    define_method(:"test_the_wire_is_the_same_for_#{name}") do
      server = catalogue
      results = both { Net::HTTP.start("127.0.0.1", server.port) { |http| seen(call.call(http)) } }
      assert_equal(*results)
      assert_equal(*server.raw_requests)
    end
  end

  ANSWERS.each_key do |path|
    define_method(:"test_the_response_is_the_same_for_#{path.delete("/").tr("-", "_")}") do
      server = catalogue
      assert_equal(*both { Net::HTTP.start("127.0.0.1", server.port) { |http| seen(http.get(path)) } })
      assert_equal(*both { seen(Net::HTTP.get_response(URI(server.url(path)))) })
      assert_equal(*both { pieces(server, path) })
    end
  end

  def test_a_chunked_stream_arrives_whole
    server = catalogue
    both do
      request = Net::HTTP::Post.new("/text", "Transfer-Encoding" => "chunked")
      request.body_stream = StringIO.new("c" * 200_000)
      Net::HTTP.start("127.0.0.1", server.port) { |http| http.request(request) }
    end
    assert_equal ["c" * 200_000], server.requests.map(&:body).uniq
  end

  def test_calls_without_start_share_a_connection
    server = catalogue
    install
    5.times { assert_equal "plain text", Net::HTTP.get(URI(server.url("/text"))) }
    5.times { assert_equal "200", Net::HTTP.new("127.0.0.1", server.port).get("/text").code }
    5.times { Net::HTTP.post(URI(server.url("/text")), "a") }
    assert_equal 1, server.connection_count
    refute_match(/connection: close/i, server.raw_requests.join)
  end

  def test_a_response_without_a_body_leaves_its_connection_open
    server = catalogue
    install
    http = Net::HTTP.new("127.0.0.1", server.port)
    3.times { http.request_head("/text") { |response| assert_nil response.body } }
    3.times { http.request_get("/none") { |response| assert_nil response.body } }
    assert_equal 1, server.connection_count
  end

  def test_local_host_is_the_source_address
    server = serve do |connection|
      connection.read_request && connection << response_bytes(connection.socket.peeraddr[3])
    end
    install
    http = Net::HTTP.new("127.0.0.1", server.port)
    http.local_host = "127.0.0.2"
    assert_equal "127.0.0.2", http.get("/").body
  end

  def test_a_caller_may_send_connection_close
    server = catalogue
    install
    Net::HTTP.new("127.0.0.1", server.port).get("/text", "Connection" => "close")
    assert_equal "close", server.requests.last["connection"]
  end

  def test_start_connects_at_once
    server = serve(&:read_rest)
    install
    http = Net::HTTP.start("127.0.0.1", server.port)
    assert server.wait_for_connections(1)
    assert_predicate http, :started?
    assert_equal "127.0.0.1", http.ipaddr
    http.finish
    refute_predicate http, :started?
    assert_raises(IOError) { http.finish }
  end

  def test_start_raises_when_the_connection_is_refused
    port = refused_port
    errors = both { assert_raises(Errno::ECONNREFUSED) { Net::HTTP.start("127.0.0.1", port) { flunk } } }
    # Versions of net-http write the address in two ways: host:port, and "host" port port.
    assert_equal(*errors.map { |error| error.message.delete('"').sub(" port ", ":") })
    # JRuby puts the system's message before it.
    words = /\A(Connection refused - )?Failed to open TCP connection to 127.0.0.1:#{port} \(Connection refused/
    assert_match(words, errors.last.message)
    assert_kind_of Trunkline::ConnectError, errors.last.cause
  end

  def test_an_unknown_name_is_a_socket_error
    errors = both { assert_raises(SocketError) { Net::HTTP.start("unknown.invalid", 80) } }
    # JRuby names another function.
    wanted = RUBY_VERSION >= "3.4" ? "(getaddrinfo(3): " : "(getaddrinfo: "
    assert_equal(*errors.map { |error| error.message.sub("(initialize: ", wanted) })
  end

  RESET = [Errno::ECONNRESET, "Connection reset by peer"].freeze

  # Programs match these messages, and error trackers group by them.
  def test_messages_are_those_of_net_http
    servers = {
      "reset" => serve { |connection| connection.read_request && connection.reset },
      "closed" => serve(&:read_request), "silent" => serve { |connection| connection.read_request && connection.stall },
      "cut" => serve { |connection| connection.read_request && connection << unfinished_chunks },
      "full" => opened(FullBacklog.new)
    }
    servers.each do |name, server|
      post = -> { failure { start_briefly(server.port) { |http| http.post("/", "a=1") } } }
      known = on_jruby(server.port)[name]
      errors = known ? [ours(&post)] : both(&post)
      *plain, ours = errors.map { |error| [error.class, in_any_edition(error.message)] }
      assert_equal known || plain.first, ours, name
      assert_kind_of Trunkline::Error, errors.last.cause
    end
  end

  # Results where JRuby's own Net::HTTP is not the reference: it treats a reset as the end of the stream, and on JRuby
  # 10 its TCPSocket ignores open_timeout:.
  def on_jruby(port)
    return {} unless RUBY_ENGINE == "jruby"

    full = [Net::OpenTimeout, "Failed to open TCP connection to 127.0.0.1:#{port} (execution expired)"]
    { "reset" => RESET, "full" => full }
  end

  # Some versions of net-http open a TCPSocket, and name it; some leave the connect timeout to the socket, which has a
  # different message.
  def in_any_edition(message)
    message.sub("TCPSocket", "Socket").sub("Connection timed out - user specified timeout", "execution expired")
  end

  def unfinished_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"

  def start_briefly(port, &block)
    Net::HTTP.start("127.0.0.1", port, read_timeout: 0.2, open_timeout: 0.2, max_retries: 0, &block)
  end

  def test_a_connect_timeout
    port = opened(FullBacklog.new).port
    start = -> { failure { Net::HTTP.start("127.0.0.1", port, open_timeout: 0.1) }.class }
    assert_equal [Net::OpenTimeout], (on_jruby(port).empty? ? both(&start) : [ours(&start)]).uniq
  end

  def test_a_read_timeout_hits_once_and_in_time
    server = serve(&:stall)
    install
    seconds, error = raised_after(Net::ReadTimeout) do
      Net::HTTP.start("127.0.0.1", server.port, read_timeout: 0.2) { |http| http.get("/") }
    end
    assert_took 0.2, seconds, 0.15
    assert_kind_of Trunkline::FirstByteTimeout, error.cause
    assert_equal "Net::ReadTimeout with #<TCPSocket:(closed)>", error.message
    assert_match(/no answer/, error.cause.message)
    server.wait_for_connections(1)
    assert_equal 1, server.connection_count
  end

  def test_a_timeout_that_is_changed_in_a_session_counts
    server = serve do |connection|
      2.times { connection.read_request && connection << response_bytes } && connection.stall
    end
    install
    Net::HTTP.start("127.0.0.1", server.port) do |http|
      2.times { http.get("/") }
      http.read_timeout = 0.1
      assert_raises(Net::ReadTimeout) { http.get("/") }
    end
  end

  def test_a_write_timeout
    server = serve { |connection| connection.read_unexpected(3) && sleep(3) }
    install
    http = Net::HTTP.new("127.0.0.1", server.port)
    http.write_timeout = 0.2
    assert_raises(Net::WriteTimeout) { http.post("/", "x" * 20_000_000) }
  end

  def test_no_limits_of_time_when_they_are_nil
    server = catalogue
    install
    http = Net::HTTP.new("127.0.0.1", server.port)
    http.open_timeout = http.read_timeout = http.write_timeout = nil
    assert_equal "200", http.get("/text").code
    limits = Trunkline::Facades::NetHTTP::Options.client_options(http).fetch(:timeout)
    assert_equal [Trunkline::Timeouts::ENDLESS], limits.values.uniq
    assert_equal Trunkline::Timeouts::PHASES.sort, limits.keys.sort
  end

  def test_a_body_of_any_size_is_begun
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: #{1 << 40}\r\n\r\nshort", :close]])
    install
    assert_raises(EOFError) { Net::HTTP.get(URI(server.url)) }
  end

  # bytes of the response => the exception raised
  {
    "nonsense" => ["nonsense\r\n\r\n", Net::HTTPBadResponse],
    "a_short_body" => ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", EOFError],
    "a_short_chunk" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nshort", EOFError],
    "no_answer" => ["", EOFError],
    "cut_gzip" => [Responses.response_bytes(GZIP[0..-9], "Content-Encoding" => "gzip"), Zlib::Error]
  }.each do |name, (bytes, type)|
    define_method(:"test_#{name}_raises") do
      server = serve { |connection| connection.read_request && connection << bytes }
      install
      error = assert_raises(type) { Net::HTTP.get(URI(server.url)) }
      assert_kind_of Trunkline::Error, error.cause
      assert_equal 1, server.requests.size
    end
  end

  def test_a_reset_connection
    server = serve { |connection| connection.read_request && connection.reset }
    install
    assert_raises(Errno::ECONNRESET) { Net::HTTP.post(URI(server.url), "a") }
  end

  # Net::HTTP itself would send a GET twice here.
  def test_a_get_is_not_sent_twice
    server = serve { |connection| connection.read_request && connection.close }
    install
    assert_raises(EOFError) { Net::HTTP.get(URI(server.url)) }
    assert_attempts 1, server
  end

  def test_an_unread_rest_of_a_body_is_not_the_next_response
    server = serve do |connection|
      while (request = connection.read_request)
        connection << (request.target == "/long" ? response_bytes("x" * 1_000_000) : response_bytes(request.target))
      end
    end
    install
    Net::HTTP.start("127.0.0.1", server.port) do |http|
      http.request_get("/long") { |response| response.read_body { break } }
      assert_equal "/next", http.get("/next").body
      assert_raises(ZeroDivisionError) { http.request_get("/long") { 1 / 0 } }
      assert_equal "/after", http.get("/after").body
    end
  end

  def test_an_interrupt_leaves_nothing_behind
    gate = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        gate.pop if request.target == "/slow"
        connection << response_bytes(request.target)
      end
    end
    install
    Net::HTTP.start("127.0.0.1", server.port) do |http|
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { http.get("/slow") } }
      gate << true
      assert_equal "/next", http.get("/next").body
    end
  end

  def test_an_announced_body_that_never_comes_is_not_carried
    server = serve(&:read_rest)
    install
    _, warnings = capture_io do
      http = Net::HTTP.new("127.0.0.1", server.port)
      http.read_timeout = 0.1
      http.max_retries = 0
      assert_raises(Net::ReadTimeout) { http.get("/", "Content-Length" => "5") }
    end
    assert_match(/announce a body/, warnings)
  end

  def test_continue_is_waited_for
    server = serve do |connection|
      connection.read_head_only
      assert_nil connection.read_unexpected(0.1), "the body waits"
      connection << "HTTP/1.1 100 Continue\r\n\r\n"
      connection << response_bytes(connection.read_exactly(4))
    end
    install
    http = Net::HTTP.new("127.0.0.1", server.port)
    http.continue_timeout = 2
    assert_equal "body", http.post("/", "body", "Expect" => "100-continue").body
  end

  def test_expect_without_a_continue_timeout_does_not_wait
    server = catalogue
    install
    assert_equal "200", Net::HTTP.new("127.0.0.1", server.port).post("/text", "b", "Expect" => "100-continue").code
    assert_equal "100-continue", server.requests.last["expect"]
  end

  def test_many_threads_share_few_connections
    server = catalogue
    install
    bodies = Array.new(8) do
      Thread.new { Net::HTTP.start("127.0.0.1", server.port) { |http| Array.new(20) { http.get("/text").body } } }
    end.flat_map(&:value)
    assert_equal ["plain text"] * 160, bodies
    assert_operator server.connection_count, :<=, 8
  end

  def test_a_session_ends_as_it_began
    server = catalogue
    before = Net::HTTP.start("127.0.0.1", server.port)
    install
    assert_equal "200", before.get("/text").code
    patched = Net::HTTP.start("127.0.0.1", server.port)
    Trunkline::NetHTTP.uninstall!
    assert_equal "200", patched.get("/text").code
    assert_equal "200", Net::HTTP.new("127.0.0.1", server.port).get("/text").code
    assert_equal [nil, nil, "close"], server.requests.map { |request| request["connection"] }
    [before, patched].each(&:finish)
  end

  def test_install_and_uninstall_are_idempotent
    2.times { install }
    assert_predicate Trunkline::NetHTTP, :installed?
    2.times { Trunkline::NetHTTP.uninstall! }
    refute_predicate Trunkline::NetHTTP, :installed?
  end

  def test_socket_options_are_ignored_with_a_warning
    server = catalogue
    install
    _, warnings = capture_io do
      http = Net::HTTP.start("127.0.0.1", server.port)
      io = http.instance_variable_get(:@socket).io
      io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      2.times { io.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, 1) }
      assert_equal "200", http.get("/text").code
    end
    assert_equal 1, warnings.scan("socket options are ignored").size
  end

  def test_a_socket_of_the_caller_is_used
    server = catalogue
    own = Class.new(Net::HTTP) do
      private

      def connect
        @socket = Net::BufferedIO.new(TCPSocket.new(address, port))
      end
    end
    install
    assert_equal "200", own.new("127.0.0.1", server.port).start { |http| http.get("/text") }.code
  end

  def test_a_target_that_cannot_be_carried_is_sent_by_net_http
    server = catalogue
    install
    _, warnings = capture_io do
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        http.get("/with space")
        http.get("/text")
      end
    end
    assert_match(/target/, warnings)
    refute_match(/space/, warnings)
    assert_equal ["/with", "/text"], server.requests.map(&:target)
  end

  private

  def install = Trunkline::NetHTTP.install!

  # @return [Array] the block's results before and after install!
  def both(&block) = [yield, ours(&block)]

  # @return [Object] the block's result after install!
  def ours
    install
    yield
  ensure
    Trunkline::NetHTTP.uninstall!
  end

  def catalogue
    serve do |connection|
      while (request = connection.read_request)
        bytes = ANSWERS.fetch(request.target, ANSWERS["/text"])
        bytes = bytes[/.*?\r\n\r\n/m] if request.verb == "HEAD"
        connection << bytes
        break if bytes.include?("Connection: close")
      end
    end
  end

  def seen(response)
    { class: response.class, code: response.code, message: response.message, version: response.http_version,
      fields: response.to_hash, body: response.body, encoding: response.body&.encoding, uri: response.uri,
      decode: response.decode_content }
  end

  def pieces(server, path)
    pieces = []
    response = Net::HTTP.start("127.0.0.1", server.port) do |http|
      http.request_get(path) do |streamed|
        before = streamed.to_hash
        streamed.read_body { |piece| pieces << piece.dup }
        pieces << before
      end
    end
    head = pieces.pop
    [head, pieces.join, pieces.map(&:encoding).uniq, response.to_hash, response.body.class]
  end

  def failure
    yield
    flunk "nothing was raised"
  rescue StandardError => error
    error
  end
end
