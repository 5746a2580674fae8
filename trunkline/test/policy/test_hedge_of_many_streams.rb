# frozen_string_literal: true

require_relative "../test_helper"

# The option hedge: for calls among many whose body a block consumes (on_chunk:, on_event:): the first head wins.
class TestHedgeOfManyStreams < TrunklineTest
  HEDGE = { after: 0.1, max: 1.0 }.freeze
  HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
  END_OF_BODY = "0\r\n\r\n"

  # Calls in a batch, map and a future; each appends the data that its block receives to `taken`.
  CALL_STYLES = {
    batch: lambda do |http, path, taken|
      http.batch { |batch| batch.get(path, on_chunk: ->(chunk, _) { taken << chunk }) }.first
    end,
    map: ->(http, path, taken) { http.map([[:get, path, { on_chunk: ->(chunk, _) { taken << chunk } }]]).first },
    future: ->(http, path, taken) { http.async.get(path, on_chunk: ->(chunk, _) { taken << chunk }).value(10) },
    events: lambda do |http, path, taken|
      http.batch { |batch| batch.get(path, on_event: ->(event, _) { taken << event.data }) }.first
    end
  }.freeze

  # @param heads [Array<Float>] seconds until the head of each response for a target; the last applies to all further
  #   ones
  # @yield [number, connection] sends the body of the response with that number, after its head
  def serve_heads(*heads)
    seen = Hash.new(0)
    lock = Mutex.new
    serve do |connection|
      while (request = connection.read_request)
        number = lock.synchronize { seen[request.target] += 1 }
        sleep heads[[number, heads.size].min - 1]
        connection << HEAD
        yield number, connection
      end
    end
  end

  def piece(text) = "#{text.bytesize.to_s(16)}\r\n#{text}\r\n"

  def whole(number, connection) = connection << piece("data: #{number}\n\n") << END_OF_BODY

  def outcomes(response) = response.attempts.map { |one| [one.reason, one.status || one.error] }

  def test_the_first_head_is_taken
    CALL_STYLES.each do |way, call|
      server = serve_heads(0.4, 0) { |number, connection| whole(number, connection) }
      http = client(server.url, hedge: HEDGE)
      response = call.call(http, "/", taken = +"")
      assert_equal way == :events ? "2" : "data: 2\n\n", taken, way
      assert_equal [[:first, "Cancelled"], [:hedge, 200]], outcomes(response), way
      assert_equal 0, http.stats[:in_use], way
    end
  end

  # The body of the first response arrives slowly, after the second request was cancelled.
  def test_the_first_request_may_still_win
    CALL_STYLES.except(:events).each do |way, call|
      server = serve_heads(0.2, 0.4) do |number, connection|
        %w[a b].each { |letter| sleep(0.2) && connection << piece("#{number}#{letter}") }
        connection << END_OF_BODY
      end
      http = client(server.url, hedge: HEDGE)
      response = call.call(http, "/", taken = +"")
      assert_equal "1a1b", taken, way
      assert_equal [[:first, 200], [:hedge, "Cancelled"]], outcomes(response), way
      assert_in_delta 0.2, response.attempts.first.elapsed, 0.15, way # measured until the head
      assert_equal 0, http.stats[:in_use], way
    end
  end

  def test_a_body_that_takes_long_is_not_late
    server = serve_heads(0) { |number, connection| sleep(0.3) && whole(number, connection) }
    http = client(server.url, hedge: HEDGE)
    assert_equal [[:first, 200]], outcomes(CALL_STYLES[:batch].call(http, "/", +""))
    http = client(server.url, hedge: { after: :p95 })
    CALL_STYLES.each_value { |call| call.call(http, "/", +"") }
    assert_operator http.stats[:hedges].values.last[:p95], :<, 0.2
  end

  def test_an_exception_of_a_callback_ends_both_attempts
    server = serve_heads(2, 0) { |number, connection| whole(number, connection) && sleep(1) }
    http = client(server.url, hedge: HEDGE)
    results = http.batch do |batch|
      batch.get("/", on_chunk: ->(*) { raise ArgumentError, "mine" })
      batch.get("/other", on_chunk: ->(*) {})
    end
    assert_equal [ArgumentError, Trunkline::Response], results.map(&:class)
    assert_equal 0, http.stats[:in_use]
  end

  def test_a_response_that_breaks_off
    server = serve_heads(0.6, 0) { |_, connection| connection << piece("begun") && connection.close }
    http = client(server.url, hedge: HEDGE, retry: { backoff: 0.01..0.02 })
    error = CALL_STYLES[:batch].call(http, "/", taken = +"")
    assert_instance_of Trunkline::TruncatedBody, error
    assert_equal ["begun", 2], [taken, server.requests.size]
    assert_equal 0, http.stats[:in_use]
  end

  def test_a_failed_attempt_leaves_the_other_running
    count = 0
    server = serve do |connection|
      connection.read_request
      next sleep(0.2) if (count += 1) == 1

      sleep 0.3
      connection << HEAD
      whole(2, connection)
    end
    response = CALL_STYLES[:future].call(client(server.url, hedge: HEDGE), "/", taken = +"")
    assert_equal "data: 2\n\n", taken
    assert_equal [[:first, "ConnectionClosed"], [:hedge, 200]], outcomes(response)
  end

  def test_cancelling_it_after_the_race
    server = serve_heads(5, 0) { |_, connection| connection << piece("begun") && sleep(5) }
    http = client(server.url, hedge: HEDGE)
    taken = Thread::Queue.new
    future = http.async.get("/", on_chunk: ->(chunk, _) { taken << chunk })
    assert_equal "begun", taken.pop
    assert future.cancel
    assert_instance_of Trunkline::Cancelled, future.value(1)
    sleep 0.05 while http.stats[:in_use].positive?
    Thread.new { CALL_STYLES[:map].call(http, "/other", taken) }.tap { taken.pop }.kill.join
    sleep 0.05 while http.stats[:in_use].positive?
    assert_empty taken
  end
end
