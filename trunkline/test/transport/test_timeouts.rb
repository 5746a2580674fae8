# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/warm_up_run"

# Each phase has its own timeout and its own error, and a timeout never causes a second attempt.
class TestTimeouts < TrunklineTest
  include WarmUpRun

  ASKED = 0.3

  def test_connect
    backlog = opened(FullBacklog.new)
    assert_times_out(Trunkline::ConnectTimeout, backlog.url, :connect, sent: :none)
  end

  def test_tls
    server = serve(script: [[:stall]])
    assert_times_out(Trunkline::TLSTimeout, server.url.sub("http", "https"), :tls, sent: :none)
    server.wait_for_connections(1)
    assert_equal 1, server.connection_count
  end

  def test_tls_after_the_first_bytes
    server = serve { |connection| connection.read_exactly(5) && connection << "\x16\x03\x03" && connection.stall }
    assert_times_out(Trunkline::TLSTimeout, server.url.sub("http", "https"), :tls, sent: :none)
  end

  def test_first_byte
    server = serve(script: [%i[read stall]])
    assert_times_out(Trunkline::FirstByteTimeout, server.url, :first_byte)
    assert_attempts 1, server
  end

  def test_first_byte_when_the_server_does_not_accept
    listener = opened(TCPServer.new("127.0.0.1", 0))
    assert_times_out(Trunkline::FirstByteTimeout, "http://127.0.0.1:#{listener.addr[1]}/", :first_byte)
  end

  def test_first_byte_over_tls
    server = serve_tls(script: [%i[read stall]])
    assert_times_out(Trunkline::FirstByteTimeout, server.url, :first_byte)
    assert_attempts 1, server
  end

  def test_first_byte_on_a_reused_connection
    server = serve(script: [[:read, response_bytes, :read, :stall]])
    http = client(server.url)
    http.get("/")
    sleep 0.05
    seconds, error = raised_after(Trunkline::FirstByteTimeout) { http.get("/", timeout: { first_byte: ASKED, total: 5 }) }
    assert_took ASKED, seconds
    assert_operator error.connection_age, :>=, 0.05
    assert_attempts 2, server
  end

  def test_read
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :stall]])
    assert_times_out(Trunkline::ReadTimeout, server.url, :read)
    assert_attempts 1, server
  end

  def test_read_inside_the_head
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Le", :stall]])
    assert_times_out(Trunkline::ReadTimeout, server.url, :read)
  end

  def test_read_counts_between_bytes
    server = serve do |connection|
      connection.read_request && connection.drip(response_bytes("x" * 20), every: 0.1, size: 8)
    end
    response = client(server.url, timeout: { read: 0.4, first_byte: 0.4, total: 5 }).get("/")
    assert_equal "x" * 20, response.body
  end

  def test_write
    server = serve { |connection| connection.read_head_only && sleep }
    http = client(server.url, timeout: { write: ASKED, total: 5 })
    body = "x" * 50_000_000
    seconds, error = raised_after(Trunkline::WriteTimeout) { http.post("/", body: body) }
    # The write timeout starts at the last byte that the socket accepted: both sides buffer some megabytes first, and
    # the kernel may accept more bytes at any time before the limit.
    assert_includes (ASKED - 0.01)..((2 * ASKED) + 0.05 + ClockJitter.lateness(seconds)), seconds
    assert_facts error, phase: :write, sent: :partial, attempt: 1
    server.wait_for_connections(1)
    assert_equal 1, server.connection_count
  end

  def test_queue
    gate = Queue.new
    server = serve { |connection| connection.read_request && gate.pop && connection << response_bytes }
    http = client(server.url, max_connections_per_host: 1, timeout: { queue: ASKED, total: 5 })
    first = Thread.new { http.get("/first") }
    server.wait_for_requests(1)
    seconds, error = raised_after(Trunkline::QueueTimeout) { http.get("/second") }
    assert_took ASKED, seconds
    assert_facts error, phase: :queue, sent: :none
    gate << true
    first.join
    assert_equal 1, server.requests.size
  end

  def test_total_in_each_phase
    backlog = opened(FullBacklog.new)
    mute = serve(script: [%i[stall]])
    silent = serve(script: [%i[read stall]])
    halting = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :stall]])
    { backlog.url => :connect, mute.url.sub("http", "https") => :tls, silent.url => :first_byte, halting.url => :read }
      .each do |url, phase|
      seconds, error = raised_after(Trunkline::TotalTimeout) { client(timeout: { total: ASKED }).get(url) }
      assert_took ASKED, seconds
      assert_equal phase, error.phase
    end
  end

  def test_total_while_bytes_drip
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
      connection.drip("x" * 1000, every: 0.02)
    end
    seconds, = raised_after(Trunkline::TotalTimeout) { client(server.url, timeout: { read: 1, total: ASKED }).get("/") }
    assert_took ASKED, seconds
    assert_attempts 1, server
  end

  def test_total_while_the_head_drips
    server = serve do |connection|
      connection.read_request && connection.drip("HTTP/1.1 200 OK\r\nX: #{"x" * 1000}", every: 0.02)
    end
    seconds, = raised_after(Trunkline::TotalTimeout) { client(server.url, timeout: { total: ASKED }).get("/") }
    assert_took ASKED, seconds
  end

  def test_total_while_the_body_is_made
    slow = Enumerator.new { |out| 20.times { (out << "piece") && sleep(0.05) } }
    server = serve
    seconds, = raised_after(Trunkline::TotalTimeout) { client(server.url, timeout: { total: ASKED }).post("/", body: slow) }
    assert_took ASKED, seconds, 0.1
  end

  def test_total_spans_redirects
    server = serve do |connection|
      while connection.read_request
        sleep 0.12
        connection << redirect("/next/#{rand}")
      end
    end
    seconds, = raised_after(Trunkline::TotalTimeout) do
      client(server.url, follow: 100, timeout: { total: ASKED }).get("/")
    end
    assert_took ASKED, seconds
  end

  def test_a_number_is_the_total
    server = serve(script: [%i[read stall]])
    seconds, error = raised_after(Trunkline::TotalTimeout) { client(server.url, timeout: ASKED).get("/") }
    assert_took ASKED, seconds
    assert_kind_of Trunkline::TimeoutError, error
    assert_attempts 1, server
  end

  def test_the_shorter_clock_wins
    server = serve(script: [%i[read stall]])
    assert_raises(Trunkline::FirstByteTimeout) { client(server.url, timeout: { first_byte: 0.1, total: 5 }).get("/") }
    assert_raises(Trunkline::TotalTimeout) { client(server.url, timeout: { first_byte: 5, total: 0.1 }).get("/") }
  end

  def test_fractions_of_a_second
    server = serve(script: [%i[read stall]])
    seconds, = raised_after(Trunkline::TotalTimeout) { client(server.url, timeout: 0.07).get("/") }
    assert_took 0.07, seconds
  end

  def test_the_connection_of_a_timed_out_call_is_closed
    server = serve(script: [%i[read stall], [:read, response_bytes("right")]])
    http = client(server.url)
    assert_raises(Trunkline::TimeoutError) { http.get("/", timeout: 0.3) }
    assert_equal :eof, server.ended
    assert_equal "right", http.get("/").body
  end

  def test_a_late_response_is_never_the_next_response
    # Waits until the client has closed the connection or sent another request.
    late = ->(connection) { connection.tcp.wait_readable(5) }
    server = serve(script: [[:read, late, response_bytes("late"), :stall], [:read, response_bytes("right")]])
    http = client(server.url)
    assert_raises(Trunkline::TimeoutError) { http.get("/", timeout: 0.3) }
    sleep 0.1
    assert_equal "right", http.get("/").body
  end

  def test_the_message_names_request_and_limit
    server = serve(script: [%i[read stall]])
    error = assert_raises(Trunkline::FirstByteTimeout) do
      client(server.url, timeout: { first_byte: 0.1, total: 5 }).get("/path?token=secret")
    end
    ["127.0.0.1:#{server.port}", "GET", "/path", "0.1"].each { |fact| assert_includes error.message, fact }
    refute_includes error.message, "secret"
  end

  def test_two_threads_time_out_by_their_own_clocks
    server = serve(script: [%i[read stall]])
    http = client(server.url)
    since, spans = timed do
      threads = [0.1, 0.3].map do |timeout|
        Thread.new { [timeout, raised_after(Trunkline::TotalTimeout) { http.get("/", timeout: timeout) }.first] }
      end
      threads.map(&:value)
    end
    spans.each { |timeout, seconds| assert_took timeout, seconds, since: since }
  end

  def test_missing_phases_are_bounded_only_by_the_total
    server = serve { |connection| connection.read_request && sleep(0.4) && connection << response_bytes }
    assert_equal "ok", client(server.url, timeout: { connect: 0.3, total: 5 }).get("/").body
  end

  # Timeouts longer than a clock can count, in every way to call.
  [1e9, 1e10, 1e19, 1e300, 10**30, Rational(10**30, 3)].each do |seconds|
    define_method(:"test_a_timeout_of_#{seconds}_is_never_reached") do
      server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.05) }
      phases = Trunkline::Timeouts::NAMES.to_h { |name| [name, seconds] }
      [seconds, phases].each do |timeout|
        http = client(server.url, timeout: timeout, follow: 3, idle_timeout: seconds, max_age: seconds,
                                  tcp_user_timeout: seconds)
        bodies = [http.get("/"), http.with(follow: false).get("/"), http.get("/", stream: true),
                  *http.batch { |batch| batch.get("/") }, *http.map(["/"]), http.async.get("/").value!(seconds)]
        assert_equal ["ok"] * 6, bodies.map(&:body)
        http.each(["/"]) { |_, response| assert_equal "ok", response.body }
      end
    end
  end

  def test_a_rate_that_allows_nothing_for_ages_waits
    server = serve
    http = client(server.url)
    thread = Thread.new { http.map(%w[/ /], rate: 1e-300) }
    eventually { server.requests.size == 1 }
    assert_nil thread.join(0.2)
    thread.kill.join
    assert_equal 1, server.requests.size
  end

  def test_a_huge_wait_for_continue_waits
    server = serve do |connection|
      connection.read_head_only
      early = connection.read_unexpected(0.2)
      connection << "HTTP/1.1 100 Continue\r\n\r\n"
      connection.read_exactly(10) unless early
      connection << response_bytes(early ? "came early" : "waited")
    end
    assert_equal "waited", client(server.url).post("/", body: "x" * 10, expect: 1e10).body
  end

  def test_no_call_is_without_an_end
    [{ connect: 1 }, { connect: 1, first_byte: nil, queue: nil, read: nil }].each do |given|
      http = client("http://127.0.0.1:1", timeout: given)
      limits = http.stats.bounds.fetch(:timeout)
      assert_equal [1.0, 30.0, 30.0, 30.0], limits.values_at(:connect, :queue, :first_byte, :read)
    end
  end

  def test_every_call_style_refuses_an_empty_hash
    http = client("http://127.0.0.1:1")
    calls = [-> { http.get("/", timeout: {}) }, -> { http.with(timeout: {}) }, -> { http.async.get("/", timeout: {}) },
             -> { http.batch { |batch| batch.get("/", timeout: {}) } }, -> { Trunkline.new(timeout: {}) },
             -> { Trunkline.get("http://127.0.0.1:1/", timeout: {}) },
             -> { http.map([{ url: "/", timeout: {} }], &:itself) }]
    calls.each { |call| assert_raises(Trunkline::MissingTimeout, &call) }
  end

  private

  def assert_times_out(error_class, url, phase, sent: :all)
    http = secure_client(timeout: { phase => ASKED, total: 5 })
    seconds, error = raised_after(error_class) { http.get(url) }
    assert_took ASKED, seconds
    assert_facts error, phase: phase, sent: sent, attempt: 1
    assert_took ASKED, error.elapsed
    assert_kind_of Trunkline::TimeoutError, error
  end
end
