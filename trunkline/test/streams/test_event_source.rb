# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_contexts"
require "timeout"

# Client#events over sockets.
class TestEventSource < TrunklineTest
  include CallContexts

  TYPE = { "Content-Type" => "text/event-stream" }.freeze
  QUICK = "retry: 1\n\n"
  GONE = "HTTP/1.1 204 No Content\r\n\r\n"

  def stream(body, **headers) = response_bytes(body, **TYPE.transform_keys(&:to_sym), **headers)

  # Each request gets the next of `responses`; nil closes the connection.
  def serve_each(*responses)
    serve do |connection|
      while connection.read_request
        bytes = responses.shift or break
        connection << bytes
      end
    end
  end

  def follow(server, url = "/", **options)
    seen = []
    reasons = []
    note = ->(reason, wait) { reasons << [reason.is_a?(Symbol) ? reason : reason.class, wait] }
    result = begin
      client(server.url).events(url, on_reconnect: note, **options) { |event| seen << event.data }
    rescue Trunkline::Error => error
      error
    end
    [seen, reasons, result]
  end

  def test_a_reconnect_sends_the_last_event_id
    server = serve_each(stream("#{QUICK}id: a 1\ndata: one\n\n"), stream("data: two\n\nid: x\ndata: lost"),
                        stream("id\ndata: three\n\n"), stream("data: four\n\n"), GONE)
    seen, reasons, result = follow(server, last_event_id: "0")
    assert_equal [%w[one two three four], [[:ended, 0.001]] * 4, nil], [seen, reasons, result]
    assert_equal(["0", "a 1", "a 1", nil, nil], server.requests.map { |request| request["Last-Event-ID"] })
    request = server.requests.first
    assert_equal %w[GET text/event-stream no-store], [request.verb, request["Accept"], request["Cache-Control"]]
    assert_equal 1, server.connection_count, "streams that were whole keep their connection"
  end

  def test_ids_of_any_bytes
    server = serve_each(stream("#{QUICK}id: ü\ta\ndata: x\n\n"), GONE)
    follow(server)
    assert_equal "ü\ta".b, server.requests.last["Last-Event-ID"].b
    server = serve_each(stream("#{QUICK}id: a\u0001b\ndata: x\n\n"), GONE)
    seen, _, error = follow(server)
    assert_equal [%w[x], Trunkline::NoEventStream, 1], [seen, error.class, server.requests.size]
    assert_match(/an event whose id has control characters/, error.message)
  end

  def test_the_callers_own_fields_and_options
    server = serve_each(stream(QUICK + "data: x\n\n"), GONE)
    follow(server, "/f", params: { a: 1 }, headers: { accept: "text/*", "X-Id" => "7" })
    request = server.requests.last
    assert_equal ["/f?a=1", "text/*", "7", "no-store"],
                 [request.target, request["accept"], request["x-id"], request["cache-control"]]
    server = serve_each(redirect("/new"), GONE)
    follow(server, headers: [%w[X-Id 8]])
    assert_equal(["/", "/new"], server.requests.map(&:target))
    assert_equal(%w[8 8], server.requests.map { |one| one["X-Id"] })
  end

  def test_failures_are_repeated_until_there_are_too_many
    server = serve_each(stream("#{QUICK}data: one\n\n"), nil, response_bytes(status: "503 Busy"),
                        response_bytes(status: "429 Slow"),
                        stream("data: two\n\n"), nil, nil, nil)
    seen, reasons, error = follow(server, attempts: 4)
    assert_equal %w[one two], seen
    assert_equal [:ended, Trunkline::ConnectionClosed, Trunkline::ServerError, Trunkline::ClientError, :ended,
                  *[Trunkline::ConnectionClosed] * 3], reasons.map(&:first)
    assert_kind_of Trunkline::ConnectionError, error
  end

  def test_a_stream_that_breaks_off
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n"
    broken = "#{head}#{QUICK}id: 5\ndata: x\n\n"
    server = serve do |connection|
      connection << (connection.number == 1 ? broken : GONE) if connection.read_request
    end
    seen, reasons, = follow(server)
    assert_equal [%w[x], [[Trunkline::TruncatedBody, 0.001]]], [seen, reasons]
    assert_equal "5", server.requests.last["Last-Event-ID"]
  end

  def test_waits_grow_and_differ
    server = serve_each(stream("retry: 20\ndata: x\n\n"))
    waits = follow(server, attempts: 6).fetch(1).map(&:last)
    assert_equal [0.02, 0.02], waits[0, 2]
    waits.drop(2).each_with_index { |wait, index| assert_includes 0.02..(0.02 * (2**(index + 1))), wait }
    assert_equal 6, waits.size
    assert_operator waits.uniq.size, :>, 3
  end

  def test_retry_after
    server = serve_each(stream("#{QUICK}data: x\n\n"), response_bytes(status: "503 Busy", "Retry-After": "1"), GONE)
    took, (_, reasons) = timed { follow(server) }
    assert_equal [0.001, 1.0], reasons.map(&:last)
    assert_operator took, :>=, 1.0
  end

  def test_responses_that_are_no_event_stream
    { response_bytes("hello", "Content-Type": "text/html") => %r{was answered 200 and "text/html"},
      response_bytes("hello") => %r{where text/event-stream was expected},
      response_bytes("x", status: "202 Accepted") => /was answered 202/ }.each do |bytes, message|
      _, _, error = follow(serve_each(bytes))
      assert_instance_of Trunkline::NoEventStream, error
      assert_match message, error.message
      assert_kind_of Trunkline::Response, error.response
    end
    _, reasons, error = follow(serve_each(response_bytes("no such feed", status: "404 Not Found")))
    assert_instance_of Trunkline::ClientError, error
    assert_equal "no such feed", error.response.body
    assert_empty reasons
    server = serve_each(*[stream(QUICK)] * 1, *[stream("")] * 3)
    _, reasons, error = follow(server, attempts: 3)
    assert_equal [:ended] * 3, reasons.map(&:first)
    assert_instance_of Trunkline::NoEventStream, error
  end

  def test_only_safe_methods_are_sent_twice
    [[stream("data: x\n\n"), nil], [nil, Trunkline::ConnectionClosed],
     [response_bytes(status: "503 Busy"), Trunkline::ServerError], [stream(""), nil]].each do |first, raised|
      server = serve_each(first, stream("data: again\n\n"))
      seen, reasons, result = follow(server, method: :post, json: { a: 1 })
      assert_equal [1, [], raised], [server.requests.size, reasons, result&.class]
      refute_includes seen, "again"
    end
    server = serve_each(stream("#{QUICK}data: x\n\n"), stream("data: again\n\n"), GONE)
    seen, = follow(server, method: :post, json: { a: 1 }, attempts: 1)
    assert_equal [%w[x again], ["{\"a\":1}"] * 3], [seen, server.requests.map(&:body)]
  end

  def test_leaving_it_closes_the_connection
    each_context do |context|
      server = serve do |connection|
        connection.read_request
        connection << "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\n"
        connection.stall
      end
      http = client(server.url)
      assert_equal 5, http.events("/") { break 5 }
      assert server.ended(0), context
      assert_equal(%w[1], http.events("/").lazy.map(&:data).first(1))
      assert server.ended(1), context
      assert_raises(IOError) { http.events("/") { raise IOError } }
      assert server.ended(2), context
      refuted = assert_raises(Trunkline::ConnectError) { http.events("/") { client.get("http://127.0.0.1:#{refused_port}") } }
      assert_includes refuted.message, "GET / at 127.0.0.1"
      assert_equal 4, server.requests.size, "what the block raises is no failure of the stream"
    end
  end

  def test_interrupts
    # Interrupts the client first while it reads the stream, then while it waits to reconnect.
    silent = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n"
      connection.stall
    end
    waiting = serve { |connection| connection << stream("retry: 60000\ndata: x\n\n") while connection.read_request }
    [silent, waiting].each do |server|
      http = client(server.url)
      begun = Queue.new
      thread = Thread.new { http.events("/") { begun << true } }
      begun.pop
      eventually { thread.stop? }
      thread.kill.join
      assert_raises(Timeout::Error) { Timeout.timeout(0.2) { http.events("/", &:data) } }
      Sync do |task|
        call = task.async { http.events("/") { begun << true } }
        sleep 0.01 while begun.empty?
        call.stop
      end
      assert_equal 0, http.stats[:in_use]
    end
    assert silent.ended(0) && silent.ended(1) && silent.ended(2)
  end

  def test_other_fibers_go_on_while_it_waits_to_reconnect
    server = serve_each(stream("retry: 200\ndata: x\n\n"), GONE)
    turns = 0
    Sync do |task|
      counting = task.async { loop { sleep(0.01) && turns += 1 } }
      client(server.url).events("/", &:data)
      counting.stop
    end
    assert_operator turns, :>=, 5
  end

  def test_silence_and_deadlines
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n#{QUICK}"
      5.times { sleep(0.1) && connection << "data: x\n\n" }
      connection.stall
    end
    seen = []
    took, = timed do
      reasons = []
      http = client(server.url, timeout: 0.3)
      http.events("/", on_reconnect: ->(reason, _) { reasons << reason.class }) do |event|
        break if seen.push(event.data).size == 6
      end
      assert_equal [Trunkline::ReadTimeout], reasons
    end
    assert_operator took, :>=, 0.8, "the client's total bounds the silence, not the stream"
    assert_raises(Trunkline::TotalTimeout) { Trunkline.deadline(0.3) { client(server.url).events("/", &:data) } }
    waiting = serve_each(stream("retry: 60000\ndata: x\n\n"))
    took, = timed do
      assert_raises(Trunkline::DeadlineExceeded) { Trunkline.deadline(0.3) { client(waiting.url).events("/", &:data) } }
    end
    assert_took_less 2, took
  end

  def test_a_limit
    _, _, error = follow(serve_each(stream("data: #{"x" * 100}\n\n")), limit: 50)
    assert_instance_of Trunkline::EventTooLarge, error
    assert_equal :all, error.sent
  end

  def test_arguments
    http = client("http://127.0.0.1:1")
    [{ attempts: 0 }, { attempts: 1.5 }, { last_event_id: 5 }, { on_reconnect: 1 }, { limit: 0 }, { nonsense: 1 },
     { timeout: -1 }].each do |options|
      assert_raises(Trunkline::InvalidRequest, options.inspect) { http.events("/", **options) { flunk } }
    end
    refute_includes http.events("/", headers: { "Authorization" => "Bearer s3cret" }).inspect, "s3cret"
    http.close
    assert_raises(Trunkline::ClosedError) { http.events("/") { flunk } }
  end
end
