# frozen_string_literal: true

require_relative "../test_helper"
require "net/http"
require "zlib"
require "trunkline/faraday"
require "trunkline/net_http"
require "faraday/net_http"

# Streams of events through the facades, in lockstep: the server sends an event only after the caller's block has
# received the one before, so a facade that buffered more would run into its timeout.
class TestEventStreams < TrunklineTest
  EVENTS = Array.new(5) { |number| "data: #{number}\n\n" }.freeze

  # The ways of streaming: each takes the URL and a block for each piece.
  CALL_STYLES = {
    adapter: ->(test, url, &seen) { test.streamed(:trunkline, url) { |chunk, *| seen.call(chunk) } },
    adapter_in_parallel: lambda do |test, url, &seen|
      connection = test.faraday(:trunkline, url)
      connection.in_parallel { connection.get { |request| request.options.on_data = seen } }
    end,
    faraday_installed: lambda do |test, url, &seen|
      test.installed { test.streamed(:net_http, url) { |chunk, *| seen.call(chunk) } }
    end,
    net_http_installed: lambda do |test, url, &seen|
      test.installed do
        Net::HTTP.start(URI(url).host, URI(url).port, read_timeout: DEFAULT_TIMEOUT) do |http|
          http.request_post("/", "{}") { |response| response.read_body(&seen) }
        end
      end
    end
  }.freeze

  CODINGS = { plain: [], gzip: [31], deflate: [15] }.freeze # window bits of zlib

  CALL_STYLES.each do |name, way|
    CODINGS.each do |coding, bits|
      next if name == :adapter_in_parallel && coding != :plain

      define_method(:"test_#{name}_#{coding}_event_by_event") do
        seen = Thread::Queue.new
        pieces = []
        server = serve { |connection| in_lockstep(connection, seen, coding, deflater(*bits)) }
        way.call(self, server.url) { |chunk| seen << pieces.push(chunk.dup) unless chunk.empty? }
        assert_equal EVENTS, pieces
      end
    end

    define_method(:"test_#{name}_may_be_left_early") do
      server = serve do |connection|
        connection.read_request && (connection << head << Responses.chunk(EVENTS.first))
        connection.stall
      end
      assert_equal(:left, catch(:done) { way.call(self, server.url) { throw :done, :left } })
      assert server.ended, "the connection stays open"
      assert_raises(KeyError) { way.call(self, server.url) { raise KeyError, "the caller's" } }
    end

    define_method(:"test_#{name}_tells_of_a_stream_that_breaks_off") do
      server = serve { |connection| connection.read_request && (connection << head << Responses.chunk(EVENTS.first)) }
      pieces = []
      error = assert_raises(Faraday::ConnectionFailed, EOFError) { way.call(self, server.url) { |chunk| pieces << chunk.dup } }
      assert_equal EVENTS.first(1), pieces, error.message
    end
  end

  # Procs with one, two or three parameters are accepted.
  def test_parameters_of_on_data
    url = serve(Responses.chunked_response(*EVENTS, "X-A" => "1")).url
    blocks = [->(all) { proc { |chunk| all << [chunk] } },
              ->(all) { proc { |chunk, size| all << [chunk, size] } },
              ->(all) { proc { |chunk, size, env| all << [chunk, size, env.status, env.response_headers["x-a"]] } }]
    blocks.each do |block|
      seen = %i[net_http trunkline].map do |adapter|
        all = []
        streamed(adapter, url, &block.call(all))
        [all.sum("") { |chunk, *| chunk }, all.last.drop(1)]
      end
      assert_equal seen.first, seen.last
      assert_equal EVENTS.join, seen.last.first
    end
  end

  # Like net_http: the body of an error goes to on_data, and then raise_error raises.
  def test_an_error_status_with_on_data
    url = serve(response_bytes("{\"error\":1}", status: "429 Too Many Requests", "Retry-After" => "7")).url
    seen = %i[net_http trunkline].map do |adapter|
      reported = []
      connection = faraday(adapter, url) { |builder| builder.response :raise_error }
      error = assert_raises(Faraday::TooManyRequestsError) do
        connection.get { |request| request.options.on_data = proc { |chunk, _, env| reported << [chunk, env.status] } }
      end
      [reported, error.response_status, error.response_headers["retry-after"], error.response_body]
    end
    assert_equal(*seen)
    assert_equal [["{\"error\":1}", 429]], seen.last.first
  end

  # A model's stream may last longer than timeout, which limits each wait, as with net_http.
  def test_a_stream_that_is_longer_than_its_timeout
    server = serve do |connection|
      while connection.read_request
        connection << head
        EVENTS.each { |event| sleep(0.3) && (connection << Responses.chunk(event)) }
        connection << "0\r\n\r\n"
      end
    end
    [false, true].each do |parallel|
      pieces = []
      connection = faraday(:trunkline, server.url, timeout: 1)
      get = -> { connection.get { |request| request.options.on_data = proc { |chunk| pieces << chunk } } }
      parallel ? connection.in_parallel(&get) : get.call
      assert_equal EVENTS, pieces
    end
  end

  def test_a_silent_stream_is_given_up
    server = serve do |connection|
      connection.read_request
      connection << head << Responses.chunk("x")
      connection.stall
    end
    pieces = []
    error = assert_raises(Faraday::TimeoutError) do
      faraday(:trunkline, server.url, timeout: 0.2).get do |request|
        request.options.on_data = proc { |chunk| pieces << chunk }
      end
    end
    assert_kind_of Trunkline::ReadTimeout, error.wrapped_exception
    assert_equal ["x"], pieces
  end

  def faraday(adapter, url, timeout: DEFAULT_TIMEOUT)
    opened(Faraday.new(url, request: { timeout: timeout }) do |builder|
      yield builder if block_given?
      builder.adapter adapter
    end)
  end

  def streamed(adapter, url, &on_data)
    faraday(adapter, url).post("", "{}") { |request| request.options.on_data = on_data }
  end

  def installed
    Trunkline::NetHTTP.install!
    yield
  ensure
    Trunkline::NetHTTP.uninstall!
  end

  private

  def head(coding = :plain)
    coded = "Content-Encoding: #{coding}\r\n" unless coding == :plain
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n#{coded}\r\n"
  end

  def deflater(bits = nil) = bits && Zlib::Deflate.new(nil, bits)

  def in_lockstep(connection, seen, coding, zlib)
    connection.read_request or return
    connection << head(coding)
    EVENTS.each do |event|
      connection << Responses.chunk(zlib ? zlib.deflate(event, Zlib::SYNC_FLUSH) : event)
      Timeout.timeout(10) { seen.pop }
    end
    connection << Responses.chunk(zlib.finish) if zlib
    connection << "0\r\n\r\n"
  end
end
