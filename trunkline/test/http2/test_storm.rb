# frozen_string_literal: true

require_relative "../support/fibers"
require "timeout"
require_relative "../support/http2/http2_test"

# Threads, fibers, batches, streams left early and interrupts, all over a few connections to a server that resets
# streams, sends GOAWAY and closes: each call must get its own response or its own error, and no stream or connection
# may leak.
class TestStorm < HTTP2Test
  SECONDS = 2
  LARGE = "z" * 200_000

  # Unusual responses, with their share in percent of all streams; all other streams get a response at once.
  UNUSUAL_RESPONSES = {
    ->(stream) { stream.reset(%i[cancel internal_error refused_stream].sample) } => 3,
    ->(stream) { stream.headers.data("x").reset(:internal_error) } => 1,
    ->(stream) { stream.connection.close } => 0.3,
    ->(stream) { stream.connection.send_goaway([stream.id - (2 * rand(4)), 0].max) } => 0.3,
    ->(stream) { sleep(rand * 0.05) && stream.answer(stream.target) } => 5,
    ->(stream) { stream.body && stream.answer(stream.target) } => 5,
    ->(stream) { stream.headers.data(stream.target).trailers("x-sum": 1) } => 5,
    ->(stream) { stream.answer(stream.target + LARGE) } => 4,
    :stall.to_proc => 1
  }.freeze

  CALLS = [
    ->(http, path) { http.get(path).body },
    ->(http, path) { http.async.get(path).value!.body },
    ->(http, path) { Timeout.timeout(0.02) { http.get(path).body } },
    ->(http, path) { http.get(path, stream: true).tap(&:read).close },
    ->(http, path) { http.post(path, body: "b" * rand(200_000)).body },
    ->(http, path) { http.post(path, body: Array.new(rand(5)) { "b" * 20_000 }.each).body },
    lambda do |http, path|
      body = +""
      http.get(path) { |chunk| body << chunk }
      body
    end
  ].freeze

  def test_each_call_gets_its_own_response
    server = serve_frames(settings: { max_concurrent_streams: 30 }) { |stream| respond_somehow(stream) }
    http = h2_client(server.url, timeout: 0.5, max_connections_per_host: 4, max_idle: 8)
    @responses = Queue.new
    @until = monotonic + SECONDS
    callers = Array.new(4) { |number| caller_of(http, "t#{number}") } + [fibers(http), batches(http), killed(http)]
    callers.each { |thread| thread.report_on_exception = false }.each(&:join)
    refute_predicate @responses, :empty?
    eventually { http.stats.values_at(:in_use, :waiting) == [0, 0] }
    eventually { server.connections.reject(&:over?).all? { |connection| connection.streams.values.all?(&:over?) } }
  end

  private

  def respond_somehow(stream)
    left = rand * 100
    way, = UNUSUAL_RESPONSES.find { |_, share| (left -= share).negative? }
    way ? way.call(stream) : stream.answer(stream.target)
  end

  def each_path(name)
    number = 0
    yield "/#{name}/#{number += 1}" while monotonic < @until
  end

  # `result` is a body, another result (of streams left early), or an error.
  def check(path, result)
    return unless result.is_a?(String)

    @responses << path
    raise "#{result[0, 50]} for #{path}" unless result.delete_suffix(LARGE) == path
  end

  def check_call(path)
    check(path, yield)
  rescue Trunkline::Error, Timeout::Error
    nil
  end

  def caller_of(http, name)
    Thread.new { each_path(name) { |path| check_call(path) { CALLS.sample.call(http, path) } } }
  end

  def fibers(http)
    Thread.new do
      each_path("f") do |base|
        Sync do |task|
          calls = Array.new(20) do |number|
            task.async { check_call("#{base}/#{number}") { http.get("#{base}/#{number}").body } }
          end
          calls.sample.stop
          calls.each(&:wait)
        end
      end
    end
  end

  def batches(http)
    Thread.new do
      each_path("b") do |base|
        http.each(Array.new(30) { |number| "#{base}/#{number}" }, concurrency: 15) do |path, result|
          check(path, result.body) if result.is_a?(Trunkline::Response)
        end
      end
    end
  end

  def killed(http)
    Thread.new do
      each_path("k") do |path|
        thread = Thread.new { check_call(path) { http.get(path).body } }
        sleep rand * 0.02
        thread.kill.join
      end
    end
  end
end
