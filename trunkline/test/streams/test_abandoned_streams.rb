# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/http2/over_http2"
require_relative "../support/fibers"
require "timeout"

# Every kind of stream, left early in every way: nothing may stay in use, and the next call must get its own response.
module AbandonedStreamTests
  Interruption = Class.new(StandardError)

  def self.pull(type, each)
    lambda do |http, &seen|
      response = http.get("/", stream: true, headers: { "Accept" => type })
      response.public_send(each) { |item| seen.call(item, response) }
    end
  end

  # name => [media type, a piece of the body that contains one item, a lambda that reads it]
  READERS = {
    block: ["text/plain", "a piece",
            ->(http, &seen) { http.get("/") { |chunk, response| seen.call(chunk, response) } }],
    each: ["text/plain", "a piece", pull("text/plain", :each)],
    each_line: ["text/plain", "a line\n", pull("text/plain", :each_line)],
    each_event: ["text/event-stream", "data: an event\n\n", pull("text/event-stream", :each_event)],
    events: ["text/event-stream", "data: an event\n\n", ->(http, &seen) { http.events("/", &seen) }],
    each_json: ["application/x-ndjson", %({"a":1}\n), pull("application/x-ndjson", :each_json)]
  }.freeze

  # name => a lambda that sends an endless body; its block is called while the body is sent
  WRITERS = {
    enumerable: ->(http, &seen) { http.post("/", body: Enumerator.new { |out| loop { out << PIECE.tap(&seen) } }) },
    callable: ->(http, &seen) { http.post("/", body: -> { PIECE.tap(&seen) }) },
    progress: lambda do |http, &seen|
      http.post("/", body: -> { PIECE }, progress: ->(one) { seen.call if one.bytes.positive? })
    end
  }.freeze
  PIECE = "x" * 65_536

  # Ways to leave from within the block.
  BY_ITSELF = {
    raise: ->(test, run) { test.assert_raises(Interruption) { run.call { raise Interruption } } },
    throw: ->(test, run) { test.assert_equal :out, catch(:left) { run.call { throw :left, :out } } }
  }.freeze

  NOTHING = ->(*) {}

  # Ways to interrupt from outside, while the call waits for data, or until it can send more.
  FROM_OUTSIDE = {
    timeout: lambda do |test, run|
      test.assert_raises(Interruption) { Timeout.timeout(0.3, Interruption) { run.call(&NOTHING) } }
    end,
    kill: ->(_, run) { in_thread(run, &:kill) },
    thread_raise: ->(_, run) { in_thread(run) { |thread| thread.raise(Interruption) } },
    cancel: ->(_, run) { in_fiber(run) }
  }.freeze

  def self.in_thread(run)
    began = Queue.new
    thread = Thread.new { run.call { began << true } }
    thread.report_on_exception = false
    began.pop
    sleep 0.1
    yield thread
    thread.join
  rescue Interruption
    nil # expected
  end

  def self.in_fiber(run)
    Sync do |task|
      began = false
      call = task.async { run.call { began = true } }
      sleep 0.02 until began
      sleep 0.1
      call.stop
      call.wait
    end
  end

  OF_READERS = {
    **BY_ITSELF, **FROM_OUTSIDE,
    break: ->(_, run) { run.call { break } },
    close: lambda do |_, run|
      run.call { |_, response| response.close }
    rescue Trunkline::Cancelled
      nil # raised after the items that had been received already
    end
  }.freeze

  READERS.each do |reader, (type, piece, read)|
    OF_READERS.each do |way, leave|
      next if reader == :events && way == :close # its block gets no Response to close

      define_method(:"test_#{reader}_left_by_#{way}") do
        server = serve_endlessly(type, piece)
        http = client(server.url, max_idle: 2)
        response = nil
        leave.call(self, lambda do |&seen|
          read.call(http) { |item, of| seen.call(item, response = of) }
        end)
        go_on(response, piece) if reader == :each_line && %i[break raise throw].include?(way)
        assert_left http, server
      end
    end
  end

  WRITERS.each do |writer, write|
    { **BY_ITSELF, **FROM_OUTSIDE }.each do |way, leave|
      define_method(:"test_#{writer}_left_by_#{way}") do
        server = serve(script: [%i[read_head_only stall], [:read, response_bytes("right"), :stall]])
        http = client(server.url, max_idle: 2)
        leave.call(self, ->(&seen) { write.call(http, &seen) })
        assert_left http, server
      end
    end
  end

  private

  # Sends three items of an endless body on the first connection, and a complete response on the next.
  def serve_endlessly(type, piece)
    head = "HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    serve(script: [[:read, head, *[chunk(piece)] * 3, :stall], [:read, response_bytes("right"), :stall]])
  end

  # Like with an IO, further lines can be read after leaving each_line.
  def go_on(response, piece)
    assert_equal piece, response.gets
    response.close
  end

  def assert_left(http, server)
    eventually("a connection is in use") { http.stats[:in_use].zero? }
    refute_nil server.ended, "the connection is open"
    assert_equal "right", http.get("/").body
    assert_equal [0, 0], http.stats.values_at(:in_use, :waiting)
  end
end

class TestAbandonedStreams < TrunklineTest # rubocop:disable Style/OneClassPerFile -- the module is for two classes
  include AbandonedStreamTests

  { **BY_ITSELF, **FROM_OUTSIDE, break: OF_READERS[:break] }.each do |way, leave|
    define_method(:"test_many_left_by_#{way}_with_an_upload_under_way") do
      http = client(serve_uploads.url, max_idle: 2)
      reported = []
      requests = [[:post, "/endless", { body: -> { PIECE }, progress: ->(one) { reported << one } }], "/quick"]
      leave.call(self, ->(&seen) { http.each(requests, &seen) })
      refute_empty reported
      assert_right http
    end
  end

  def test_a_future_cancelled_with_its_upload_under_way
    http = client(serve_uploads.url, max_idle: 2)
    reported = Queue.new
    future = http.async.post("/endless", body: -> { PIECE }, progress: ->(one) { reported << one })
    reported.pop
    future.cancel
    assert_instance_of Trunkline::Cancelled, future.value
    assert_right http
  end

  READERS.each do |reader, (type, piece, _)|
    next unless Trunkline::Response.method_defined?(reader)

    define_method(:"test_#{reader}_of_a_buffered_response_left_early") do
      server = serve(response_bytes(piece * 3, "Content-Type" => type))
      http = client(server.url, max_idle: 2)
      [*http.map(%w[/ /]), http.async.get("/").value].each_with_index do |response, index|
        assert_equal :out, catch(:left) { response.public_send(reader) { throw :left, :out } } if index.zero?
        response.public_send(reader) { break } if index.positive?
        assert_equal piece * 3, response.body
      end
      assert_equal 0, http.stats[:in_use]
    end
  end

  private

  def serve_uploads
    serve do |connection|
      while (head = connection.read_head_only)
        head.target == "/endless" ? connection.stall : connection << response_bytes("right")
      end
    end
  end

  def assert_right(http)
    eventually("a connection is in use") { http.stats[:in_use].zero? }
    assert_equal "right", http.get("/").body
  end
end

TestAbandonedStreamsOverHTTP2 = OverHTTP2.test_case(AbandonedStreamTests)
