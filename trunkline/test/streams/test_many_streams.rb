# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"

# Many concurrent streams: on_chunk: and on_event: among many requests, and each_event in threads and fibers.
class TestManyStreams < TrunklineTest
  STREAMS = 200
  EVENTS = 5
  # Each connection serves one stream.
  HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

  # Event k of any stream is sent only after every stream has received event k - 1, so that no stream may wait for
  # another.
  class Gate
    def initialize(count)
      @count = count
      @seen = Hash.new(0)
      @lock = Mutex.new
      @changed = ConditionVariable.new
    end

    def seen(number)
      @lock.synchronize do
        @seen[number] += 1
        @changed.broadcast if @seen[number] == @count
      end
    end

    # @return [Boolean] whether every stream has received the event in time
    def reached?(number)
      @lock.synchronize do
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
        while @seen[number] < @count
          left = limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          return false unless left.positive?

          @changed.wait(@lock, left)
        end
      end
      true
    end
  end

  def serve_in_lockstep(gate)
    serve do |connection|
      connection.read_request
      connection << HEAD
      EVENTS.times do |number|
        connection << chunk("data: #{number}\n\n")
        break unless gate.reached?(number)
      end
      connection << "0\r\n\r\n"
    end
  end

  def in_lockstep
    gate = Gate.new(STREAMS)
    server = serve_in_lockstep(gate)
    http = client(server.url, timeout: { total: 60 }, max_connections_per_host: STREAMS, max_idle: STREAMS)
    seen = Array.new(STREAMS) { [] }
    yield http, lambda { |index, event|
      seen[index] << event.data
      gate.seen(event.data.to_i)
    }
    assert_equal [Array.new(EVENTS, &:to_s)] * STREAMS, seen
  end

  def test_threads
    in_lockstep do |http, receive|
      Array.new(STREAMS) do |index|
        Thread.new { http.get("/", stream: true).each_event { |event| receive.call(index, event) } }
      end.each(&:join)
    end
  end

  def test_fibers
    in_lockstep do |http, receive|
      Sync do |task|
        Array.new(STREAMS) do |index|
          task.async { http.get("/", stream: true).each_event { |event| receive.call(index, event) } }
        end.each(&:wait)
      end
    end
  end

  def test_a_batch
    in_lockstep do |http, receive|
      results = http.batch(concurrency: STREAMS) do |batch|
        STREAMS.times { |index| batch.get("/", on_event: ->(event, _) { receive.call(index, event) }) }
      end
      assert_equal [200] * STREAMS, results.map(&:status)
    end
  end

  def test_futures
    in_lockstep do |http, receive|
      futures = Array.new(STREAMS) do |index|
        http.async.get("/", on_event: ->(event, _) { receive.call(index, event) })
      end
      assert_equal [200] * STREAMS, futures.map { |future| future.value(60).status }
    end
  end

  def test_each_and_map
    in_lockstep do |http, receive|
      requests = Array.new(STREAMS) { |index| [:get, "/", { on_event: ->(event, _) { receive.call(index, event) } }] }
      assert_equal [200] * STREAMS, http.map(requests, concurrency: STREAMS).map(&:status)
    end
  end

  def test_chunks_come_with_their_response
    server = serve(response_bytes("body", "X-A" => "b"))
    seen = []
    results = client(server.url).map([[:get, "/", { on_chunk: lambda { |bytes, response|
      seen << [bytes, response["x-a"]]
    } }],
                                      "/"])
    assert_equal [%w[body b]], seen
    assert_equal ["", "body"], results.map(&:body)
    assert_operator results.first.timings.total, :>, 0
  end

  def test_an_unsuccessful_response_keeps_its_body
    server = serve do |connection|
      while (request = connection.read_request)
        connection << case request.target
                      when "/moved" then redirect("/there")
                      when "/there" then response_bytes("there")
                      else response_bytes(%({"error":"no"}), "Content-Type" => "application/json", status: "429 Busy")
                      end
      end
    end
    seen = []
    note = ->(bytes, _) { seen << bytes }
    results = client(server.url).batch do |batch|
      batch.get("/refused", on_chunk: note)
      batch.get("/moved", on_chunk: note, follow: 2)
    end
    assert_equal [429, { "error" => "no" }, 200, ["there"]],
                 [results[0].status, results[0].json, results[1].status, seen]
    error = client(server.url, raise: true).map([[:get, "/refused", { on_chunk: note }]]).first
    assert_equal [Trunkline::ClientError, { "error" => "no" }], [error.class, error.response.json]
  end

  def test_a_block_that_raises_ends_only_its_call
    server = serve do |connection|
      request = connection.read_request
      connection << HEAD << chunk("data: 1\n\n")
      request.target == "/raises" ? connection.stall : connection << "0\r\n\r\n"
    end
    http = client(server.url)
    results = http.map([[:get, "/raises", { on_event: ->(*) { raise ArgumentError, "mine" } }],
                        [:get, "/", { on_event: ->(*) {} }]])
    assert_equal [ArgumentError, 200], [results[0].class, results[1].status]
    assert_equal 0, http.stats[:in_use]
    assert_equal "mine", http.async.get("/raises", on_event: ->(*) { raise ArgumentError, "mine" }).value.message
  end

  def test_a_cut_stream_is_an_error
    server = serve(script: [[:read, HEAD, chunk("data: 1\n\n"), :close]])
    seen = []
    error = client(server.url).map([[:get, "/", { on_event: ->(event, _) { seen << event.data } }]]).first
    assert_equal [["1"], Trunkline::TruncatedBody], [seen, error.class]
  end

  def test_with_retries
    count = 0
    server = serve do |connection|
      connection << (if (count += 1) == 1
                       response_bytes("busy",
                                      status: "503 Busy")
                     else
                       response_bytes("there")
                     end) while connection.read_request
    end
    seen = []
    http = client(server.url, retry: true)
    response = http.map([[:get, "/", { on_chunk: ->(bytes, _) { seen << bytes } }]]).first
    assert_equal [200, ["there"], 2], [response.status, seen, response.attempts.size]
  end

  # Like with a single call, whose caller has the response once the head has arrived.
  def test_a_stream_that_broke_off_is_not_retried
    [{ retry: true }, { retry: true, hedge: { after: 0.05, max: 1.0 } }, { follow: 3 }].each do |options|
      server = serve do |connection|
        connection.read_request
        connection << HEAD << chunk("data: 1\n\n")
        sleep 0.2
        connection.close
      end
      seen = []
      error = client(server.url, **options).map([[:get, "/", { on_event: ->(event, _) { seen << event.data } }]]).first
      assert_equal [["1"], Trunkline::TruncatedBody, 1], [seen, error.class, server.requests.size], options
      Trunkline::Policy::State.clear
    end
  end

  def test_the_body_of_an_error_has_a_limit
    server = serve(response_bytes("x" * 1_200_000, status: "500 Broken"))
    error = client(server.url).map([[:get, "/", { on_chunk: ->(*) { flunk } }]]).first
    assert_equal Trunkline::BodyTooLarge, error.class
    assert_match(/limit: 1048576/, error.message)
  end

  def test_bad_input
    server = serve
    http = client(server.url)
    { { on_chunk: 5 } => /on_chunk: must be callable/, { on_chunk: -> {}, on_event: -> {} } => /cannot both/,
      { stream: true } => /on_chunk: or on_event:/ }.each do |options, message|
      error = assert_raises(Trunkline::InvalidRequest) { http.map([[:get, "/", options]]) }
      assert_match message, error.message
    end
    error = assert_raises(Trunkline::InvalidRequest) { http.get("/", on_chunk: ->(*) {}) }
    assert_match(/\Aon_chunk: is for a request among many.*a single call has a block/, error.message)
    assert_empty server.requests
  end
end
