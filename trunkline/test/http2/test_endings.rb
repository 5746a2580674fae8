# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Streams and connections that end: which requests move to another connection, which errors are raised, and which
# requests are never sent again.
class TestEndings < HTTP2Test
  # ---- RST_STREAM

  %i[get post].each do |verb|
    define_method(:"test_a_refused_#{verb}_moves") do
      refused = Queue.new
      server = serve_frames do |stream|
        next stream.answer(stream.body) unless refused.empty?

        refused << stream
        stream.reset(:refused_stream)
      end
      response = call(h2_client(server.url), verb)
      assert_equal verb == :post ? "once" : "", response.body
      assert_equal %i[first moved], response.attempts.map(&:reason)
      assert_equal 2, server.requests.size
    end
  end

  def test_a_request_whose_stream_is_always_refused_fails
    server = serve_frames { |stream| stream.reset(:refused_stream) }
    error = assert_raises(Trunkline::StreamReset) { h2_client(server.url).get("/") }
    assert_equal :none, error.sent
    assert_operator server.requests.size, :<=, 10
  end

  %i[internal_error cancel enhance_your_calm protocol_error no_error].each do |code|
    define_method(:"test_a_reset_with_#{code}_is_raised_and_not_repeated") do
      server = serve_frames { |stream| stream.target == "/fine" ? stream.answer : stream.body && stream.reset(code) }
      http = h2_client(server.url)
      error = assert_raises(Trunkline::StreamReset) { call(http, :post) }
      assert_facts error, sent: :all, attempt: 1
      assert_match(/#{code.upcase}/, error.message)
      assert_equal "ok", http.get("/fine").body
      assert_equal [1, 2], [server.connection_count, server.requests.size]
    end
  end

  def test_a_reset_in_the_middle_of_the_response
    server = serve_frames do |stream|
      stream.headers(200)
      stream.data("half")
      stream.reset(:internal_error)
    end
    received = +""
    error = assert_raises(Trunkline::StreamReset) { h2_client(server.url).get("/") { |chunk| received << chunk } }
    assert_equal "half", received
    assert_facts error, phase: :read, sent: :all
  end

  def test_a_reset_while_the_body_is_sent
    server = serve_frames(grants: :never) { |stream| stream.read && stream.reset(:internal_error) }
    error = assert_raises(Trunkline::StreamReset) { h2_client(server.url).post("/", body: StringIO.new("x" * 500_000)) }
    assert_equal :partial, error.sent
    assert_attempts 1, server
  end

  def test_http_1_1_required_is_named_in_the_message
    server = serve_frames { |stream| stream.reset(:http_1_1_required) }
    error = assert_raises(Trunkline::StreamReset) { h2_client(server.url).get("/") }
    assert_includes error.message, "HTTP_1_1_REQUIRED (13); ask with http: :h1"
  end

  # ---- GOAWAY

  def test_a_graceful_goaway_loses_nothing
    http = secure_client(max_idle: 4)
    count = Nginx::SHORT_CONNECTION * 3
    results = http.map(Array.new(count, Nginx.url("/small", :h2_short)), concurrency: 10)
    assert_equal [Nginx::SMALL] * count, results.map { |result| result.is_a?(Exception) ? result : result.body }
    assert_operator http.stats[:opened], :>=, 3
  end

  def test_streams_under_way_end_well_after_a_goaway
    server = serve_frames do |stream|
      if stream.target == "/last"
        stream.headers
        stream.connection.send_goaway(stream.id)
        sleep 0.1
        stream.data("whole", end_stream: true)
      else
        stream.answer("next")
      end
    end
    http = h2_client(server.url)
    assert_equal "whole", http.get("/last").body
    assert_equal "next", http.get("/next").body
    assert_equal 2, server.connection_count
  end

  def test_requests_that_a_goaway_reports_unprocessed_move_to_another_connection
    acted = Queue.new
    server = serve_frames do |stream|
      connection = stream.connection
      if connection.number == 1 && stream.target != "/warm"
        goaway_when_there_are(4, stream, acted)
      else
        acted << stream.body
        stream.answer(stream.request.body)
      end
    end
    http = h2_client(server.url)
    http.get("/warm")
    bodies = in_threads(3) { |number| http.post("/#{number}", body: number.to_s).body }
    assert_equal %w[0 1 2], bodies
    assert_equal ["", "0", "1", "2"], Array.new(acted.size) { acted.pop }.sort
    assert_equal 2, server.connection_count
  end

  def test_a_request_that_may_have_been_processed_is_not_repeated
    server = serve_frames do |stream|
      stream.body
      stream.connection.send_goaway(stream.id, :internal_error, "out of order").finish_sending
    end
    error = assert_raises(Trunkline::ConnectionError, Trunkline::StreamReset) { call(h2_client(server.url), :post) }
    assert_facts error, sent: :all, attempt: 1
    assert_attempts 1, server
  end

  def test_a_goaway_error_is_named_in_the_message
    server = serve_frames do |stream|
      stream.connection.send_goaway(stream.id, :enhance_your_calm, "too many calls").finish_sending
    end
    error = assert_raises(Trunkline::Error) { h2_client(server.url).get("/") }
    assert_match(/ENHANCE_YOUR_CALM/, error.message)
  end

  def test_a_goaway_on_an_idle_connection
    server = serve_frames
    http = h2_client(server.url)
    http.get("/")
    server.connection.send_goaway(server.connection.last_stream)
    assert_equal "ok", http.get("/").body
    assert_equal 2, server.connection_count
    assert_equal :eof, server.ended, "the old one is closed"
  end

  def test_a_goaway_before_any_stream
    server = serve_frames(hello: lambda { |connection|
      connection.send_settings
      connection.send_goaway(0) if connection.number == 1
    })
    response = h2_client(server.url).post("/", body: "once")
    assert_equal 200, response.status
    assert_equal 2, server.connection_count
  end

  # ---- replay: :safe

  # All connections fail with their requests; each request may be sent twice at most.
  def test_a_replay_happens_once_and_on_a_new_connection
    server = serve_frames do |stream|
      next stream.answer("warm") if stream.target == "/warm"

      sleep 0.02
      stream.connection.close
    end
    http = h2_client(server.url, replay: :safe, max_connections_per_host: 4)
    errors = Array.new(5) do
      http.get("/warm")
      in_threads(8) { |number| outcome { http.get("/#{number}/#{rand(1 << 32)}") } }
    end.flatten
    counts = server.requests.map(&:target).reject { |target| target == "/warm" }.tally
    assert_operator counts.values.max, :<=, 2, counts.select { |_, count| count > 2 }.inspect
    assert_includes counts.values, 2, "nothing was replayed"
    errors.each do |error|
      assert_equal :all, error.sent
      assert_operator error.attempts.map(&:reason).count(:replayed), :<=, 1
    end
  end

  # The first attempt sent the whole request; a later attempt that was refused unprocessed does not change that.
  def test_sent_covers_all_attempts
    server = serve_frames do |stream|
      next stream.answer("warm") if stream.target == "/warm"

      stream.connection.number == 1 ? stream.connection.close : stream.reset(:refused_stream)
    end
    http = h2_client(server.url, replay: :safe)
    http.get("/warm")
    error = assert_raises(Trunkline::StreamReset) { http.get("/") }
    assert_equal :all, error.sent
    assert_match(/the server has the whole request/, error.message)
    assert_equal %i[all none none], error.attempts.map(&:sent)
  end

  # ---- the connection breaks

  %i[close reset].each do |way|
    define_method(:"test_a_connection_that_the_server_does_#{way}_with_20_streams_fails_each_by_its_own_error") do
      halves = Queue.new
      server = serve_frames do |stream|
        halves << stream.headers.data("half")
        stream.connection.wait_until(PATIENCE) { halves.size == 20 }
        sleep 0.1
        stream.connection.public_send(way)
      end
      http = h2_client(server.url)
      errors = in_threads(20) { |number| outcome { http.get("/#{number}") } }
      assert_equal 20, errors.map(&:object_id).uniq.size
      errors.each_with_index do |error, number|
        assert_instance_of Trunkline::TruncatedBody, error
        assert_facts error, phase: :read, sent: :all, attempt: 1
        assert_match(%r{/#{number}\b}, error.message)
      end
      assert_equal [1, 20], [server.connection_count, server.requests.size]
    end
  end

  # The frames that the server sends before it closes, and the name of the truncated part.
  CUTS = {
    "body" => ->(stream) { stream.headers(200, "content-length": 9).data("half") },
    "head" => ->(stream) { stream.frame(:headers, 0, "\x88") }, # :status 200, and no END_HEADERS
    "head that follows early hints" => ->(stream) { stream.informational(103).frame(:headers, 0, "\x88") }
  }.freeze

  CUTS.each do |name, sending|
    %i[close reset].each do |way|
      define_method(:"test_the_server_does_#{way}_in_a_#{name.tr(" ", "_")}") do
        server = serve_frames do |stream|
          sending.call(stream)
          sleep 0.05
          stream.connection.public_send(way)
        end
        error = assert_raises_with(Trunkline::TruncatedBody, sent: :all, attempt: 1) { h2_client(server.url).get("/") }
        assert_match(/ended before the #{name[0, 4]} was complete/, error.message)
      end
    end
  end

  # In the second case, the server sends 1 byte of a frame of 100.
  { "section" => [0, "\x88"], "frame" => [Frame::END_HEADERS, nil] }.each do |name, (flags, block)|
    define_method(:"test_a_call_that_times_out_within_a_#{name}_of_its_head_leaves_no_connection_behind") do
      server = serve_frames do |stream|
        next stream.answer("whole") unless stream.request.target == "/cut"

        next stream.frame(:headers, flags, block) if block

        stream.connection.raw("#{[100, 1, flags, stream.id].pack("xnCCN")}\x88".b)
      end
      http = h2_client(server.url)
      assert_raises_with(Trunkline::TotalTimeout, sent: :all) { http.get("/cut", timeout: 0.3) }
      assert_equal "whole", http.get("/").body
      assert_equal 2, server.connection_count
    end
  end

  def test_a_stream_that_ends_before_its_body_is_complete_while_the_connection_goes_on
    server = serve_frames { |stream| stream.answer("hello", "content-length": stream.request.target == "/" ? 9 : 5) }
    http = h2_client(server.url)
    error = assert_raises_with(Trunkline::TruncatedBody, sent: :all) { http.get("/") }
    assert_match(/the answer ended before the body was complete \(5 of 9 bytes came\)/, error.message)
    assert_equal "hello", http.get("/whole").body
    assert_equal 1, server.connection_count
  end

  def test_a_connection_closed_without_a_response
    server = serve_frames { |stream| stream.body && stream.connection.close }
    error = assert_raises_with(Trunkline::ConnectionClosed, sent: :all, attempt: 1) { call(h2_client(server.url), :post) }
    assert_equal :first_byte, error.phase
    assert_attempts 1, server
  end

  def test_a_connection_that_the_server_closed_while_idle_is_not_used
    server = serve_frames
    http = h2_client(server.url)
    2.times do |round|
      assert_equal "ok", http.post("/", body: "x").body
      server.connections[round].close
    end
    assert_equal "ok", http.post("/", body: "x").body
    assert_equal [3, 3], [server.connection_count, server.requests.size]
  end

  private

  def call(http, verb)
    verb == :post ? http.post("/", body: "once") : http.get("/")
  end

  # When `count` streams have arrived (the first of them was the warm-up), sends a GOAWAY that declares all after the
  # second unprocessed, and processes the second.
  def goaway_when_there_are(count, stream, acted)
    connection = stream.connection
    stream.body
    connection.wait_until(PATIENCE) { connection.streams.size == count }
    processed = connection.streams.keys[1]
    return if stream.id != processed

    connection.send_goaway(processed)
    acted << stream.request.body
    stream.answer(stream.request.body)
  end
end
