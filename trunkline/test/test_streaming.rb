# frozen_string_literal: true

require_relative "test_helper"
require "zlib"

# Response bodies passed on as they arrive: to a block, by reading, at the reader's pace.
class TestStreaming < TrunklineTest
  PIECE = "x" * 65_536
  HALF = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"

  def test_a_block_gets_the_chunks
    chunks = []
    response = client(serve(chunked_response("one", "two", "three")).url).get("/") { |chunk| chunks << chunk }
    assert_equal "onetwothree", chunks.join
    assert_equal 200, response.status
    assert_equal "", response.body
  end

  def test_a_block_gets_a_chunk_as_soon_as_it_is_received
    taken = Queue.new
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" << chunk("first")
      taken.pop
      connection << chunk("last") << "0\r\n\r\n"
    end
    chunks = []
    client(server.url).get("/") { |chunk| taken << chunks.push(chunk) }
    assert_equal %w[first last], chunks
  end

  def test_an_interrupt_between_the_head_and_the_block_closes_the_response
    http = client(serve(chunked_response("one", "two")).url, max_idle: 2)
    interrupt = Class.new(Exception) # rubocop:disable Lint/InheritException -- as an interrupt's
    trace = TracePoint.new(:c_return) do |event|
      raise interrupt if event.method_id == :perform && event.self == Trunkline::Engine
    end
    assert_raises(interrupt) { trace.enable(target_thread: Thread.current) { http.get("/") { flunk } } }
    assert_equal 0, http.stats[:in_use]
  end

  def test_chunks_are_the_blocks_own
    kept = []
    client(serve(chunked_response("aaa", "bbb")).url).get("/") { |chunk| kept << (chunk << "!") }
    assert_equal "aaabbb", kept.join.delete("!")
  end

  def test_a_block_of_two_parameters_gets_the_response
    server = serve(chunked_response("one", "two"))
    [->(chunk, response) { @seen << [chunk, response] },
     proc { |chunk, response| @seen << [chunk, response] }, method(:see)].each do |taker|
      @seen = []
      response = client(server.url).get("/", &taker)
      assert_equal "onetwo", @seen.map(&:first).join
      assert(@seen.map(&:last).all? { |seen| seen.equal?(response) })
    end
    assert_equal(200, client(server.url).get("/") { |_, response| break response.status })
  end

  def test_other_blocks_get_the_chunk_alone
    server = serve(chunked_response("one"))
    [->(chunk) { @seen = [chunk] }, proc { |*all| @seen = all }, ->(chunk, more = nil) { @seen = [chunk, *more] },
     proc { |chunk, more = nil| @seen = [chunk, *more] }, (text = +"").method(:<<)].each do |taker|
      @seen = nil
      client(server.url).get("/", &taker)
      assert_equal ["one"], @seen || [text]
    end
  end

  def test_a_block_that_cannot_take_a_chunk_is_refused_before_anything_is_sent
    server = serve(response_bytes)
    [-> {}, ->(_, _, _) {}, proc { |_, _, _| }].each do |taker|
      error = assert_raises(Trunkline::InvalidRequest) { client(server.url).get("/", &taker) }
      assert_match(/the block must take 1 argument/, error.message)
    end
    assert_equal 0, server.connection_count
  end

  def test_chunks_are_decoded
    body = "hello " * 10_000
    packed = Zlib.gzip(body)
    received = +""
    client(serve(response_bytes(packed, "Content-Encoding" => "gzip")).url).get("/") { |chunk| received << chunk }
    assert_equal body, received
  end

  def test_pulling_with_each
    response = client(serve(chunked_response("one", "two")).url).get("/", stream: true)
    assert_equal 200, response.status
    assert_equal "onetwo", response.each.to_a.join
  end

  def test_pulling_with_read
    response = client(serve(chunked_response("one", "two")).url).get("/", stream: true)
    read = +""
    while (piece = response.read)
      read << piece
    end
    assert_equal "onetwo", read
    assert_nil response.read
  end

  def test_the_head_is_available_before_the_body
    taken = Queue.new
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nX-Early: yes\r\nContent-Length: 4\r\n\r\n"
      taken.pop
      connection << "body"
    end
    response = client(server.url).get("/", stream: true)
    assert_equal "yes", response["X-Early"]
    taken << true
    assert_equal "body", response.each.to_a.join
  end

  def test_trailers_are_available_after_the_body
    response = client(serve(chunked_response("a", trailers: { "X-Sum" => "1" })).url).get("/", stream: true)
    response.each { |chunk| chunk }
    assert_equal "1", response.trailers["X-Sum"]
  end

  def test_a_connection_read_to_its_end_is_reused
    http = client(serve(chunked_response("one", "two")).url)
    first = http.get("/", stream: true)
    first.each { |chunk| chunk }
    assert_same_connection first, http.get("/")
    third = http.get("/") { |chunk| chunk }
    assert_same_connection first, third
  end

  def test_a_response_closed_early_closes_its_connection
    assert_left_early { |http| http.get("/", stream: true).tap(&:read).close }
  end

  def test_a_break_out_of_the_block_closes_the_connection
    assert_left_early { |http| http.get("/") { break } }
  end

  def test_an_error_in_the_block_closes_the_connection_and_is_the_callers
    assert_left_early do |http|
      assert_equal "mine", assert_raises(KeyError) { http.get("/") { raise KeyError, "mine" } }.message
    end
  end

  def test_a_throw_out_of_the_block_closes_the_connection
    assert_left_early { |http| catch(:out) { http.get("/") { throw :out } } }
  end

  def test_a_break_out_of_each_closes_the_connection
    assert_left_early do |http|
      response = http.get("/", stream: true)
      response.each { |chunk| break chunk if chunk }
      response.close
    end
  end

  def test_an_enumerator_left_early_closes_the_connection
    assert_left_early do |http|
      response = http.get("/", stream: true)
      response.each.first(1)
      response.close
    end
  end

  def test_the_connection_of_a_garbage_collected_response_is_closed
    server = serve_endless
    http = client(server.url)
    Thread.new { forget(http) }.join # after its thread ends, no stack refers to the response
    eventually("the connection of a forgotten response stays open") do
      Memory.collect
      !server.connections.first.ended.nil?
    end
  end

  # ---- a truncated body is never taken for a complete one

  def test_a_failed_read_fails_again
    response = client(serve(script: [[:read, HALF, :close]]).url).get("/", stream: true)
    assert_equal "half", response.read
    first = assert_raises(Trunkline::ProtocolError) { response.read }
    assert_facts first, phase: :read, sent: :all
    [-> { response.read }, -> { response.body }, -> { response.each { flunk } }].each do |reading|
      assert_equal first.message, assert_raises(first.class, &reading).message
    end
    refute_predicate response, :complete?
  end

  def test_a_read_that_ran_out_of_time_fails_again
    server = serve(script: [[:read, HALF, :stall]])
    response = client(server.url, timeout: { read: 0.1, total: 5 }).get("/", stream: true)
    response.read
    errors = Array.new(2) { assert_raises(Trunkline::ReadTimeout) { response.read } }
    assert_equal(*errors.map(&:message))
    assert_raises(Trunkline::ReadTimeout) { response.body }
  end

  def test_an_interrupted_read_fails_again
    interruption = Class.new(StandardError)
    server = serve(script: [[:read, HALF, :stall], [:read, HALF, :stall]])
    %i[read body].each do |reading|
      response = client(server.url).get("/", stream: true)
      response.read
      assert_raises(interruption) { Timeout.timeout(0.2, interruption) { response.public_send(reading) } }
      assert_raises_with(Trunkline::Cancelled, phase: :read, sent: :all) { response.read }
      assert_raises(Trunkline::Cancelled) { response.body }
    end
  end

  def test_a_response_closed_early_has_no_body
    server = serve_endless
    response = client(server.url).get("/", stream: true)
    response.each { |chunk| break if chunk }
    2.times { response.close }
    assert_raises(Trunkline::Cancelled) { response.read }
    error = assert_raises(Trunkline::Cancelled) { response.body }
    assert_match(/given up before its answer was complete/, error.message)
  end

  def test_a_response_read_to_its_end_may_be_closed_and_read
    response = client(serve(chunked_response("one")).url).get("/", stream: true)
    response.each { |chunk| chunk }
    response.close
    assert_nil response.read
    assert_equal "", response.body
  end

  def test_a_slow_reader_stops_the_sender
    server = serve_endless
    response = client(server.url).get("/", stream: true)
    response.read
    eventually { @written.to_i.positive? }
    eventually("the sender never stopped") { standing_still?(0.3) { @written } }
    assert_operator @written, :<, 32 * Nginx::MEBIBYTE
    response.close
  end

  def test_a_slow_block_stops_the_sender
    server = serve_endless
    client(server.url, timeout: 30).get("/") do
      eventually("the sender never stopped") { standing_still?(0.3) { @written } }
      break
    end
    assert_operator @written, :<, 32 * Nginx::MEBIBYTE
  end

  def test_memory_stays_flat_for_a_gigabyte_by_block
    assert_flat_memory do |http|
      total = 0
      http.get(Nginx.url("/huge")) { |chunk| total += chunk.bytesize }
      total
    end
  end

  def test_memory_stays_flat_for_a_gigabyte_by_pulling
    assert_flat_memory do |http|
      total = 0
      response = http.get(Nginx.url("/huge"), stream: true)
      while (piece = response.read)
        total += piece.bytesize
      end
      total
    end
  end

  def test_chunks_can_be_read_into_one_buffer
    out = stream_alone(<<~RUBY)
      response = http.get("/huge", stream: true)
      buffer = String.new(capacity: 256 * 1024)
      chunks = total = 0
      while (chunk = response.read(buffer))
        raise "another String" unless chunk.equal?(buffer) && chunk.encoding == Encoding::BINARY

        total += chunk.bytesize
        chunks += 1
      end
      p [total, chunks > 1000, Memory.minor_collections - minor < 50]
    RUBY
    assert_equal "[#{1024 * Nginx::MEBIBYTE}, true, true]\n", out
  end

  def test_no_piece_is_larger_than_the_bound
    large = Random.new(1).bytes(1 << 20)
    zipped = Zlib.gzip(large)
    { plain: response_bytes(large), chunked: chunked_response(*[large.byteslice(0, 300_000)] * 4, "x"),
      gzip: response_bytes(zipped, "Content-Encoding" => "gzip"),
      dense: response_bytes(Zlib.gzip("x" * (1 << 22)), "Content-Encoding" => "gzip") }.each do |form, bytes|
      [nil, +""].each do |buffer|
        sizes = sizes_of_pieces(client(serve(bytes).url).get("/", stream: true), buffer)
        assert_operator sizes.max, :<=, Trunkline::Engine::BOUNDS[:streamed_piece], form
        assert_operator sizes.sum, :>, 1_000_000, form
      end
    end
  end

  def test_a_buffer_that_is_none_is_refused
    server = serve(chunked_response(PIECE))
    client.get(server.url, stream: true).tap do |response|
      assert_raises(TypeError) { response.read(:five) }
      assert_raises(FrozenError) { response.read("") }
      text = +""
      buffer = +""
      text << buffer while response.read(buffer)
      assert_equal PIECE, text
    end
  end

  def test_the_read_timeout_does_not_count_the_readers_own_time
    server = serve(chunked_response(PIECE, PIECE, PIECE, PIECE))
    response = client(server.url, timeout: { read: 0.5, total: 5 }).get("/", stream: true)
    pieces = []
    while (piece = response.read)
      pieces << piece
      sleep 0.6 if pieces.size == 1
    end
    assert_equal 4 * PIECE.size, pieces.sum(&:size)
  end

  def test_a_truncated_stream_raises_where_it_is_read
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :close]])
    received = +""
    assert_raises(Trunkline::TruncatedBody) { client(server.url).get("/") { |chunk| received << chunk } }
    assert_equal "half", received
  end

  def test_two_streams_at_once
    http = client(serve(chunked_response("one", "two")).url)
    streams = Array.new(2) { http.get("/", stream: true) }
    refute_equal(*streams.map { |response| response.connection.id })
    assert_equal %w[onetwo onetwo], streams.map { |response| response.each.to_a.join }
  end

  private

  def see(chunk, response) = @seen << [chunk, response]

  def assert_left_early
    server = serve_endless
    http = client(server.url, timeout: 10)
    yield http
    refute_nil server.ended(0), "the connection of the abandoned response is still open"
    assert_equal "next", http.get("/next").body
    assert_equal 2, server.connection_count
  end

  # The response to "/" never ends; every other path gets a short response at once.
  def serve_endless
    serve do |connection|
      request = connection.read_request or next
      next connection << response_bytes("next") if request.target != "/"

      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      @written = 0
      write_for_ever(connection)
    end
  end

  def write_for_ever(connection)
    loop do
      connection << chunk(PIECE)
      @written += PIECE.bytesize
    end
  rescue SystemCallError, IOError
    connection.left!
  end

  def standing_still?(seconds)
    before = yield
    sleep seconds
    before.positive? && before == yield
  end

  # Runs the code in a process where nothing else starts a garbage collection.
  def stream_alone(code)
    result = Subprocess.run(<<~RUBY)
      http = Trunkline.new(#{Nginx.url("/").inspect}, timeout: 40)
      http.get("/small")
      require "memory"
      Memory.collect
      minor = Memory.minor_collections
      #{code}
    RUBY
    assert_empty result.err
    result.out
  end

  def sizes_of_pieces(response, buffer)
    sizes = []
    while (piece = response.read(buffer))
      sizes << piece.bytesize
    end
    sizes
  end

  def forget(http) = http.get("/", stream: true).read && nil

  def assert_flat_memory
    http = client(timeout: 150)
    http.get(Nginx.url("/small"))
    before = Memory.resident_bytes
    Memory.reset_peak
    assert_equal 1024 * Nginx::MEBIBYTE, yield(http)
    # Ruby collects Strings after some ten megabytes of them; a body kept whole would take a gigabyte.
    assert_operator Memory.peak_bytes - before, :<, 128 * Nginx::MEBIBYTE
  end
end
