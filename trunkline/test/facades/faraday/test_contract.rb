# frozen_string_literal: true

require_relative "../../test_helper"
require "trunkline/faraday"
require "faraday/net_http"

# A caller of Faraday must see the same as with the :net_http adapter: the value, or the class of the error.
class TestFaradayContract < TrunklineTest
  # @return [Object] the block's value, which must be the same for a connection with each adapter
  def assert_same(url = nil, **options)
    seen = %i[net_http trunkline].map do |adapter|
      options = { request: { timeout: DEFAULT_TIMEOUT }, **options }
      yield opened(Faraday.new(url, options) { |builder| builder.adapter adapter })
    rescue Faraday::Error => error
      error.class
    end
    assert_equal(*seen)
    seen.last
  end

  def trunkline(url = nil)
    opened(Faraday.new(url, request: { timeout: DEFAULT_TIMEOUT }) { |builder| builder.adapter :trunkline })
  end

  # Returns sums over the chunks, which do not depend on where the network splits them.
  def streamed(connection, parallel)
    seen = []
    response = nil
    send = lambda do
      response = connection.get("/") do |request|
        request.options.on_data = proc do |chunk, size, env|
          seen << [chunk, size, env.status, env.response_headers["x-a"]]
        end
      end
    end
    # :net_http does not support parallel requests, so its sequential results are the reference.
    parallel && connection.builder.adapter.klass.supports_parallel? ? connection.in_parallel(&send) : send.call
    text = seen.sum(+"") { |chunk, *| chunk }
    sums = seen.all? { |chunk, size, *| text[0, size].end_with?(chunk) }
    [text, seen.last.drop(1), sums, response.body, response.status]
  end

  { "chunks" => -> { chunked_response("abc", "defg") },
    "a length" => -> { response_bytes("abcdefg", "X-A" => "1") },
    "an error's status" => -> { response_bytes("gone", status: "410 Gone") },
    "nothing" => -> { response_bytes("") } }.each do |name, bytes|
    [false, true].each do |parallel|
      define_method(:"test_on_data_with_#{name.tr(" '", "__")}#{"_in_parallel" if parallel}") do
        url = serve(instance_exec(&bytes)).url
        assert_same(url) { |connection| streamed(connection, parallel) }
      end
    end
  end

  # The first chunk is reported before the server sends the second.
  def test_chunks_in_parallel_are_reported_as_they_arrive
    reported = Thread::Queue.new
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
      reported.pop
      connection << "1\r\nb\r\n0\r\n\r\n"
    end
    seen = []
    connection = trunkline(server.url)
    connection.in_parallel do
      connection.get("/") { |request| request.options.on_data = proc { |chunk, *| reported << (seen << chunk) } }
    end
    assert_equal %w[a b], seen
  end

  def test_an_error_in_on_data_ends_only_its_request
    server = serve { |connection| connection.read_request && (connection << unfinished) && connection.stall }
    connection = trunkline(server.url)
    calls = 0
    error = assert_raises(KeyError) do
      connection.in_parallel do
        connection.get("/") { |request| request.options.on_data = proc { |*| (calls += 1) && raise(KeyError) } }
      end
    end
    assert_equal 1, calls
    refute_respond_to error, :others # the call did not wait for its timeout
  end

  def unfinished = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx"

  { "none" => "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "a blank" => "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
    "two words" => "HTTP/1.1 200 Very Well\r\nContent-Length: 0\r\n\r\n" }.each do |name, bytes|
    define_method(:"test_the_reason_phrase_#{name.tr(" ", "_")}") do
      assert_same(serve(bytes).url) { |connection| connection.get("/").reason_phrase.inspect }
    end
  end

  def test_urls_that_cannot_be_requested
    ["ftp://127.0.0.1/x", "mailto:a@b.test", "http:///x", ""].each do |url|
      assert_equal Faraday::ConnectionFailed, assert_same { |connection| connection.get(url) }, url
      error = assert_raises(Faraday::ConnectionFailed, url) { trunkline_in_parallel(url) }
      assert_kind_of Trunkline::InvalidRequest, error.wrapped_exception
    end
  end

  def trunkline_in_parallel(url)
    connection = trunkline
    connection.in_parallel { connection.get(url) }
  end

  def test_tls_files_that_cannot_be_read
    { ca_file: "/nowhere.pem", ca_path: "/nowhere" }.each do |name, value|
      url = serve_tls(response_bytes("ok")).url
      seen = assert_same(url, ssl: { name => value }) { |connection| connection.get("/") }
      assert_equal Faraday::SSLError, seen, name
    end
  end

  def test_timeouts
    silent = serve { |connection| connection.read_request && connection.stall }
    [{ timeout: 0.2 }, { read_timeout: 0.2 }, { open_timeout: 5, read_timeout: 0.2 }].each do |request|
      assert_equal Faraday::TimeoutError, assert_same(silent.url, request: request) { |connection| connection.get("/") }
    end
  end

  def test_connections_that_fail
    port = refused_port
    { "refused" => "http://127.0.0.1:#{port}/", "unknown" => "http://nowhere.invalid/" }.each do |name, url|
      assert_equal Faraday::ConnectionFailed, assert_same { |connection| connection.get(url) }, name
    end
    proxy = { proxy: "http://127.0.0.1:#{port}" }
    assert_equal Faraday::ConnectionFailed, assert_same(**proxy) { |connection| connection.get("http://a.test/") }
  end
end
