# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Flow control: a receiver that does not read stops the sender, on its own stream only.
class TestFlow < HTTP2Test
  PIECE = "x" * 16_384
  # Far more than any window of the client admits unread.
  ENDLESS = 10_000

  def test_a_slow_reader_stops_only_its_own_stream
    server = serve_frames { |stream| stream.target == "/endless" ? send_endlessly(stream) : stream.answer(PIECE * 20) }
    http = h2_client(server.url)
    slow = http.get("/endless", stream: true)
    slow.read
    assert_stops { @sent }
    20.times { assert_equal PIECE.bytesize * 20, http.get("/quick").body.bytesize }
    before = @sent
    read = 0
    read += slow.read.bytesize while read < 8 * Nginx::MEBIBYTE
    eventually("the sender does not go on") { @sent > before }
    slow.close
    assert_equal 1, server.connection_count
  end

  def test_many_slow_readers_do_not_stop_the_connection
    server = serve_frames { |stream| stream.target == "/endless" ? send_endlessly(stream) : stream.answer("quick") }
    http = h2_client(server.url)
    slow = Array.new(20) { http.get("/endless", stream: true).tap(&:read) }
    assert_stops { @sent }
    assert_equal "quick", http.get("/quick").body
    slow.each(&:close)
    assert_equal 1, server.connection_count
  end

  LEFT_EARLY = {
    close: ->(http) { http.get("/endless", stream: true).tap(&:read).close },
    break: ->(http) { http.get("/endless") { break } },
    raise: ->(http) { http.get("/endless") { raise KeyError } rescue KeyError }, # rubocop:disable Style/RescueModifier
    throw: ->(http) { catch(:out) { http.get("/endless") { throw :out } } }
  }.freeze

  LEFT_EARLY.each do |way, leave|
    define_method(:"test_a_response_left_early_by_#{way}_is_cancelled_and_the_connection_stays_open") do
      server = serve_frames { |stream| stream.target == "/endless" ? send_endlessly(stream) : stream.answer }
      http = h2_client(server.url)
      leave.call(http)
      assert_equal :cancel, server.streams.first.wait_reset
      assert_equal "ok", http.get("/next").body
      assert_equal 1, server.connection_count
    end
  end

  def test_the_stream_of_a_garbage_collected_response_is_reset
    server = serve_frames { |stream| send_endlessly(stream) }
    http = h2_client(server.url)
    Thread.new { http.get("/endless", stream: true).read && nil }.join
    eventually("the stream of a forgotten response stays open") do
      Memory.collect
      server.streams.first.reset_by_client
    end
  end

  def test_a_body_of_an_io_waits_for_the_servers_window
    server = serve_frames(grants: :never) { |stream| respond_when_granted(stream) }
    io = StringIO.new("x" * 300_000)
    call = Thread.new { h2_client(server.url).post("/", body: io).body }
    assert_waits_for_window(server, call)
  end

  def test_a_body_of_an_enumerable_is_pulled_as_the_server_allows
    server = serve_frames(grants: :never) { |stream| respond_when_granted(stream) }
    pulled = 0
    body = Enumerator.new { |out| 300.times { (pulled += 1) && out << "x" * 1000 } }
    call = Thread.new { h2_client(server.url).post("/", body: body).body }
    assert_waits_for_window(server, call) { assert_operator pulled, :<, 300 }
  end

  def test_a_window_of_nothing_from_the_beginning
    server = serve_frames(settings: { initial_window_size: 0 }, grants: :never) do |stream|
      stream.connection.wait_for(:settings, count: 2)
      @before = stream.request.body.bytesize
      stream.grant(5)
      stream.answer(stream.body)
    end
    assert_equal "hello", h2_client(server.url).tap { |http| http.get("/") rescue nil }.post("/", body: "hello").body # rubocop:disable Style/RescueModifier
  end

  def test_a_server_that_grants_no_window_causes_a_write_timeout
    server = serve_frames(grants: :never, &:stall)
    http = h2_client(server.url, timeout: { write: 0.3, total: 5 })
    seconds, error = raised_after(Trunkline::WriteTimeout) { http.post("/", body: StringIO.new("x" * 300_000)) }
    assert_includes 0.29..(1.3 + ClockJitter.lateness(seconds)), seconds, "since the last byte was taken"
    assert_facts error, phase: :write, sent: :partial, attempt: 1
    server.wait_for_requests(1)
    assert_equal :cancel, server.streams.first.wait_reset
  end

  def test_a_stopped_upload_does_not_stop_others
    server = serve_frames(grants: :never) do |stream|
      if stream.target == "/stopped"
        stream.stall
      else
        stream.connection.grant(1000)
        stream.answer(stream.body)
      end
    end
    http = h2_client(server.url)
    stopped = Thread.new { outcome { http.post("/stopped", body: StringIO.new("x" * 60_000), timeout: 1) } }
    server.connection.wait_for(:data)
    assert_equal "small", http.post("/", body: "small").body
    assert_kind_of Trunkline::TimeoutError, stopped.value
    assert_equal 1, server.connection_count
  end

  def test_unread_data_of_closed_streams_is_credited_to_the_connection_window
    server = serve_frames { |stream| stream.target == "/endless" ? send_endlessly(stream) : stream.answer(PIECE * 60) }
    http = h2_client(server.url)
    # In total more than the connection's window, none of it read.
    40.times { http.get("/endless", stream: true).tap(&:read).close }
    assert_equal PIECE.bytesize * 60, http.get("/").body.bytesize
    assert_equal 1, server.connection_count
  end

  def test_memory_stays_flat_for_a_large_response
    http = secure_client(timeout: 120)
    http.get(Nginx.url("/small", :h2))
    before = Memory.resident_bytes
    Memory.reset_peak
    total = 0
    assert_equal "2", http.get(Nginx.url("/big", :h2)) { |chunk| total += chunk.bytesize }.http_version
    assert_equal 200 * Nginx::MEBIBYTE, total
    assert_operator Memory.peak_bytes - before, :<, 128 * Nginx::MEBIBYTE
  end

  def test_throughput_is_not_bounded_by_small_windows
    server = serve_frames { |stream| stream.answer("x") }
    h2_client(server.url).get("/")
    settings = server.connection.received(:settings).first.payload.unpack("nN" * 3).each_slice(2).to_h
    assert_operator settings.fetch(Frame::SETTINGS[:initial_window_size]), :>=, Nginx::MEBIBYTE
    assert_equal 0, settings.fetch(Frame::SETTINGS[:enable_push])
  end

  private

  def send_endlessly(stream)
    stream.headers
    ENDLESS.times do
      stream.data(PIECE)
      @sent = @sent.to_i + PIECE.bytesize
    end
    flunk "nobody stopped the sender"
  end

  def assert_stops
    eventually("the sender never stopped") do
      before = yield.to_i
      sleep 0.3
      before.positive? && before == yield
    end
    assert_operator yield, :<, 32 * Nginx::MEBIBYTE
  end

  # After the first window, no more data may arrive before the server grants more.
  def respond_when_granted(stream)
    window = FrameConnection::DEFAULT_WINDOW
    stream.connection.wait_until(PATIENCE) { stream.request.body.bytesize == window }
    sleep 0.2
    @before = stream.request.body.bytesize
    stream.connection.grant(1_000_000)
    stream.grant(1_000_000)
    stream.answer(stream.body.bytesize.to_s)
  end

  def assert_waits_for_window(server, call)
    server.wait_for_requests(1)
    sleep 0.1
    yield if block_given?
    assert_equal "300000", call.value
    assert_equal FrameConnection::DEFAULT_WINDOW, @before
  end
end
