# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_contexts"
require "timeout"
require "trunkline/stubs"
require "zlib"

# Response#each_event over sockets.
class TestEachEvent < TrunklineTest
  include CallContexts

  TYPE = { "Content-Type" => "text/event-stream" }.freeze
  HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
  STREAM = "\uFEFFid: 1\revent: a\r\ndata: one\ndata: zwei ü\n\n: ping\n\ndata: three\r\r\ndata: lost"
  EVENTS = [["a", "one\nzwei ü", "1"], ["message", "three", "1"]].freeze

  def facts(events) = events.map { |event| [event.type, event.data, event.id] }

  # Sends one event at a time, each after the one before was consumed.
  def serve_in_step(taken, events)
    serve do |connection|
      connection.read_request
      connection << HEAD
      events.each do |event|
        connection << chunk("data: #{event}\n\n")
        taken.pop
      end
      connection << "0\r\n\r\n"
    end
  end

  # A stream that never ends.
  def serve_endless
    serve do |connection|
      connection.read_request
      connection << HEAD << chunk("data: 1\n\ndata: 2\n\n")
      connection.stall
    end
  end

  def test_divided_at_every_byte
    (0..STREAM.bytesize).each do |at|
      pieces = [STREAM.byteslice(0, at), STREAM.byteslice(at..)].reject(&:empty?)
      http = client(serve(chunked_response(*pieces, **TYPE)).url)
      assert_equal EVENTS, facts(http.get("/", stream: true).each_event), "at #{at}"
    end
    bytes = chunked_response(*STREAM.b.chars, **TYPE)
    assert_equal EVENTS, facts(client(serve(bytes).url).post("/", json: {}, stream: true).each_event)
  end

  def test_each_event_is_yielded_with_its_last_byte
    each_context do |context|
      taken = Queue.new
      seen = []
      response = client(serve_in_step(taken, 1..20).url).post("/", json: {}, stream: true)
      assert_same(response, response.each_event { |event| taken << seen.push(event.data) })
      assert_equal (1..20).map(&:to_s), seen, context
    end
  end

  def test_compressed_streams_are_not_delayed
    taken = Queue.new
    server = serve do |connection|
      connection.read_request
      connection << HEAD.sub("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n")
      gzip = Zlib::GzipWriter.new(packed = StringIO.new(+"".b))
      (1..5).each do |number|
        gzip.write("data: #{number}\n\n")
        gzip.flush
        connection << chunk(packed.string.slice!(0..))
        packed.rewind
        taken.pop
      end
      gzip.finish
      connection << chunk(packed.string) << "0\r\n\r\n"
    end
    seen = []
    client(server.url).get("/", stream: true).each_event { |event| taken << seen.push(event.data) }
    assert_equal %w[1 2 3 4 5], seen
  end

  def test_events_of_buffered_responses
    http = client(serve { |connection| connection << response_bytes(STREAM) while connection.read_request }.url)
    all = [http.get("/"), http.batch { |batch| batch.get("/") }.first, http.async.get("/").value, *http.map(["/"])]
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://x.test/").answer(body: STREAM)
      2.times { |streamed| all << Trunkline.get("http://x.test/", timeout: 1, stream: streamed == 1) }
    end
    all.each { |response| assert_equal EVENTS, facts(response.each_event) }
  end

  def test_an_enumerator
    response = client(serve_endless.url).get("/", stream: true)
    events = response.each_event
    assert_equal %w[1 2], [events.next.data, events.next.data]
    response.close
    assert_equal %w[1], client(serve_endless.url).get("/", stream: true).each_event.lazy.map(&:data).first(1)
  end

  # ---- left early ----

  def test_leaving_the_block_closes_the_connection
    ways = { break: ->(_) { :break }, raise: ->(_) { raise IOError }, close: :close.to_proc }
    each_context do |context|
      ways.each do |name, way|
        server = serve_endless
        http = client(server.url)
        response = http.get("/", stream: true)
        begin
          response.each_event { break if way.call(response) == :break }
        rescue IOError, Trunkline::Cancelled
          nil
        end
        assert server.ended, [context, name].inspect
        assert_equal 0, http.stats[:in_use]
      end
    end
  end

  def test_interrupts
    server = serve_endless
    http = client(server.url)
    reached = Queue.new
    thread = Thread.new do
      http.get("/", stream: true).each_event do |event|
        reached << event
        sleep if event.data == "2"
      end
    end
    2.times { reached.pop }
    thread.kill.join
    assert server.ended(0), "killed in the block"
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { http.get("/", stream: true).each_event(&:data) } }
    assert server.ended(1), "while it waited"
    Sync do |task|
      call = task.async { http.get("/", stream: true).each_event(&:data) }
      sleep 0.1
      call.stop
    end
    assert server.ended(2), "a fiber that was stopped"
    assert_equal 0, http.stats[:in_use]
  end

  # ---- limits and failures ----

  def test_an_event_that_is_too_large
    server = serve do |connection|
      connection.read_request
      connection << HEAD << chunk("data: x\n\ndata: #{"y" * 95}")
      connection.stall
    end
    seen = []
    error = assert_raises(Trunkline::EventTooLarge) do
      client(server.url).get("/s", stream: true).each_event(limit: 100) { |event| seen << event.data }
    end
    assert_equal ["x", :read, :all], [*seen, error.phase, error.sent]
    assert_match %r{\AGET /s at 127.0.0.1:\d+ was answered 200, and an event is larger than allowed}, error.message
    assert_includes error.message, "limit: 100 bytes"
    assert_kind_of Trunkline::BodyTooLarge, error
    assert server.ended
    whole = client(serve(response_bytes("data: #{"y" * 95}")).url).get("/")
    assert_raises(Trunkline::EventTooLarge) { whole.each_event(limit: 100).to_a }
    assert_raises(Trunkline::InvalidRequest) { whole.each_event(limit: 0).to_a }
  end

  def test_a_stream_that_breaks_off_raises_after_its_events
    server = serve { |connection| connection.read_request && connection << HEAD << chunk("data: x\n\ndata: y") }
    seen = []
    assert_raises(Trunkline::TruncatedBody) do
      client(server.url).get("/", stream: true).each_event { |event| seen << event.data }
    end
    assert_equal %w[x], seen
  end

  # Comments prevent the read timeout of a stream.
  def test_the_limit_is_the_silence
    server = serve do |connection|
      connection.read_request
      connection << HEAD
      6.times { sleep(0.1) && connection << chunk(":\n\n") }
      connection << chunk("data: x\n\n")
      connection.stall
    end
    while_on_time do
      seen = []
      response = client(server.url, timeout: { read: 0.4, total: nil }).get("/", stream: true)
      assert_raises(Trunkline::ReadTimeout) { response.each_event { |event| seen << event.data } }
      assert_equal %w[x], seen
    end
  end
end
