# frozen_string_literal: true

require "objspace"
require_relative "../test_helper"
require "trunkline/stubs"
require_relative "../support/batch_tests"

class TestBatch < TrunklineTest
  include BatchTests

  def test_options_of_a_client_are_named
    error = assert_raises(Trunkline::InvalidRequest) { client.map([], timeout: 1) }
    assert_match(/got :timeout\z/, error.message)
    assert_includes error.message, "client.with(timeout: ...)"
  end

  def test_single_calls_of_other_threads_are_not_starved
    server = serve do |connection|
      while connection.read_request
        sleep 0.02
        connection << response_bytes
      end
    end
    http = client(server.url, max_connections_per_host: 2)
    over = false
    running = Thread.new do
      http.batch(concurrency: 2) do |batch|
        following = ->(_) { batch.get("/", &following) unless over }
        4.times { batch.get("/", &following) }
      end
    end
    server.wait_for_requests(4)
    seconds, = timed { http.get("/single") }
    assert running.alive?, "the batch is under way"
    assert_took_less 0.3, seconds
  ensure
    over = true
    running&.join
  end

  def test_a_raise_from_another_thread_ends_it_at_once
    server = serve(&:stall)
    http = client(server.url)
    thread = Thread.new { http.batch { |batch| 3.times { batch.get("/") } } }
    thread.report_on_exception = false
    server.wait_for_connections(3)
    seconds, = timed do
      thread.raise(IOError, "enough")
      assert_raises(IOError) { thread.join }
    end
    assert_took_less 1, seconds
    eventually { http.stats[:in_use].zero? }
  end

  # Beyond this number, waiting content would be kept twice: in the caller's request, and composed.
  def test_few_waiting_requests_with_a_body_are_built_in_advance
    most = Trunkline::Scheduler::COMPOSED_WITH_CONTENT
    [[{ body: "x" }, most], [{}, most + 10]].each do |options, kept|
      waiting = nil
      catch(:not_sent) do
        client("http://127.0.0.1:1").batch do |batch|
          (most + 10).times { batch.post("/", options) }
          waiting = batch.instance_variable_get(:@scheduler).instance_variable_get(:@backlogged).flat_map(&:waiting)
          throw :not_sent
        end
      end
      assert_equal [most + 10, kept], [waiting.size, waiting.count(&:request)]
    end
  end

  # All requests are ready in the same step: each body is asked for its first piece when its connection opens.
  def test_bodies_that_raise_do_not_affect_other_responses
    server = serve
    bodies = Array.new(20) do |index|
      Enumerator.new { |out| index.odd? ? raise(KeyError, "body #{index}") : out << "body #{index}" }
    end
    results = client(server.url).batch(concurrency: 20) { |batch| bodies.each { |body| batch.post("/", body: body) } }
    assert_equal((1...20).step(2).map { |index| "body #{index}" }, results.grep(KeyError).map(&:message))
    assert_equal (0...20).step(2).to_a, results.each_index.select { |index| results[index].is_a?(Trunkline::Response) }
    assert_equal((0...20).step(2).map { |index| "body #{index}" }.sort, server.requests.map(&:body).sort)
  end

  # Time that the caller spends between a request's start and its first step must not count as the server's. These
  # options change how the time of a call is counted.
  TIMED = {
    "" => {}, "_of_calls_that_are_retried" => { retry: true }, "_of_calls_that_follow" => { follow: true }
  }.freeze

  TIMED.each do |which, options|
    define_method(:"test_a_caller_that_is_busy_takes_no_time_from_requests#{which}_that_it_has_just_added") do
      http = client(serve.url, timeout: 1, **options)
      results = http.batch do |batch|
        batch.get("/first") do
          batch.get("/second")
          sleep 1.2
        end
      end
      assert_equal([200], results.map { |result| result.is_a?(Trunkline::Error) ? result.message : result.status })
      assert_operator results.first.timings.total, :<, 1
    end

    define_method(:"test_a_progress_that_takes_long_takes_no_time_from_requests#{which}") do
      server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.02) }
      slow = [1.2]
      paths = Enumerator.new { |all| 200.times { |number| all << "/#{number}" } }
      http = client(server.url, timeout: 1, **options)
      results = http.map(paths, concurrency: 5, progress: ->(_) { sleep(slow.pop || 0) })
      assert_empty results.grep(Trunkline::Error).map(&:message)
    end
  end

  def serve_kept
    serve do |connection|
      while (got = connection.read_request)
        connection << response_bytes(got.target, "Cache-Control" => "max-age=60")
      end
    end
  end

  def test_an_interrupt_names_calls_that_had_not_begun
    server = serve
    batch = client(server.url, retry: true).batch
    batch.get("/first") do
      batch.get("/second")
      raise Interrupt, "in the block"
    end
    assert_raises(Interrupt) { batch.run }
    assert_equal([[:get, "/second"]], batch.cancelled.map { |verb, path| [verb.downcase.to_sym, path] })
    assert_instance_of Trunkline::Cancelled, batch.results.last
    assert_equal ["/first"], server.requests.map(&:target)
  end

  def test_cached_responses_neither_wait_nor_delay_other_requests
    server = serve_kept
    http = client(server.url, cache: true, timeout: 1)
    http.get("/kept")
    done = []
    http.batch(concurrency: 2, rate: 50) do |batch|
      %w[/kept /new /kept /kept].each do |path|
        batch.get(path) do |response|
          done << [path, response.body]
          sleep 0.6
        end
      end
    end
    assert_equal([%w[/kept /kept]] * 3 + [%w[/new /new]], done.sort)
    assert_equal %w[/kept /new], server.requests.map(&:target)
  end

  def test_cached_responses_take_no_rate_slot
    http = client(serve_kept.url, cache: true)
    http.get("/kept")
    seconds, results = timed { http.map(["/kept"] * 40, rate: 10) }
    assert_equal ["/kept"] * 40, results.map(&:body)
    assert_took_less 2, seconds
  end

  def test_a_closed_client_refuses_a_batch
    http = client(serve.url)
    http.close
    assert_raises(Trunkline::ClosedError) { http.batch { |batch| batch.get("/") } }
  end

  BAD = {
    "an unknown concurrency" => [{ concurrency: :fast }, /concurrency: must be :auto or an Integer .* got :fast/],
    "a concurrency of 0" => [{ concurrency: 0 }, /concurrency/],
    "an unknown option" => [{ concurency: 3 }, /unknown option :concurency; the nearest are concurrency:, /],
    "another client's option" => [{ parallel: 3 }, /unknown option :parallel; instead: concurrency:/],
    "an option of a request" => [{ json: 3 }, /must be one of concurrency:, .* \[:post, url, \{ json: .* got :json/],
    "a rate without a unit of time" => [{ rate: "100" }, /rate: must be .* got "100"/],
    "a progress that cannot be called" => [{ progress: 3 }, /progress/]
  }.freeze

  BAD.each do |what, (options, message)|
    define_method(:"test_#{what.tr(" ", "_")}_is_refused") do
      error = assert_raises(Trunkline::InvalidRequest) { client.batch(**options) { |batch| batch.get("http://127.0.0.1:1") } }
      assert_match message, error.message
    end
  end

  def test_a_bad_request_is_named_by_its_index_before_anything_is_sent
    server = serve
    error = assert_raises(Trunkline::InvalidRequest) do
      client(server.url).batch do |batch|
        2.times { batch.get("/") }
        batch.get("http://127.0.0.1:99999/")
      end
    end
    assert_match(/\Arequest 2: url: port/, error.message)
    assert_empty server.requests
  end

  def test_a_block_of_wrong_arity_is_refused
    server = serve
    [->(_, _) {}, -> {}, proc { |one, two, three| [one, two, three] }].each do |block|
      error = assert_raises(Trunkline::InvalidRequest) { client(server.url).batch { |batch| batch.get("/", &block) } }
      assert_match(/request 0: the block must take 1 argument/, error.message)
    end
    assert_raises(Trunkline::InvalidRequest) { client(server.url).batch { nil } }
    assert_empty server.requests
  end

  def test_invalid_requests_as_results
    server = serve
    requests = ["/a", "http://bad host/", [:get, "/b", { bogus: 1 }], "/c"]
    [requests, requests.lazy].each do |source|
      results = {}
      client(server.url).each(source, invalid: :yield) { |request, result| results[request] = result.class }
      assert_equal [Trunkline::Response, Trunkline::InvalidRequest] * 2,
                   results.values_at(*requests.values_at(0, 1, 3, 2))
    end
    mapped = client(server.url).map(requests, invalid: :yield)
    assert_match(/\Arequest 1: url: /, mapped[1].message)
    assert_equal 200, mapped.last.status
    [[:batch, {}], [:each, { invalid: :other }]].each do |name, options|
      arguments = name == :each ? [["/"]] : []
      error = assert_raises(Trunkline::InvalidRequest) do
        client(server.url).public_send(name, *arguments, invalid: :yield, **options) { |*| nil }
      end
      assert_match(/\Ainvalid: /, error.message)
    end
  end

  def test_requests_by_next_request
    left = %w[/3 /2 /1]
    source = Object.new
    source.define_singleton_method(:next_request) { left.pop }
    seen = []
    client(serve.url).each(source) { |request, result| seen << [request, result.status] }
    assert_equal %w[/1 /2 /3].map { |request| [request, 200] }, seen.sort
  end

  def test_contexts_are_yielded_instead_of_requests
    source = Struct.new(:left, :context) do
      def next_request = (self.context = left.shift)&.fetch(:url)
    end
    given = [{ url: "/1" }, { url: "http://bad host/" }, { url: ["post", "/2", { body: "x" }].freeze }]
    server = serve
    seen = []
    client(server.url).each(source.new(given.dup), invalid: :yield) do |context, result, index = nil|
      seen << [index, context, result.class]
    end
    expected = [Trunkline::Response, Trunkline::InvalidRequest, Trunkline::Response]
    assert_equal given.each_index.zip(given, expected), seen.sort_by(&:first)
  end

  def test_contexts_of_requests_without_a_result
    source = Struct.new(:number, :context) do
      def next_request = (self.context = self.number += 1) && "/#{number}"
    end
    seen = []
    cancelled = []
    client(serve.url).each(source.new(0), concurrency: 4, on_cancel: ->(one) { cancelled << one }) do |context, _|
      break if seen.push(context).any?
    end
    assert_equal [1, 2, 3, 4], (seen + cancelled).sort
  end

  def test_a_third_parameter_that_is_optional_gets_the_index
    requests = ["/same", "http://bad host/", "/same"]
    seen = []
    client(serve.url).each(requests.each, invalid: :yield) { |request, _, index = nil| seen << [index, request] }
    assert_equal [0, 1, 2].zip(requests), seen.sort
  end

  def test_stream_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { client(serve.url).batch { |batch| batch.get("/", stream: true) } }
    assert_match(/stream:/, error.message)
  end

  def test_many_that_wait_cost_little_memory
    http = client("http://127.0.0.1:1")
    batch = http.batch
    batch.get("/warm") { nil }
    taken = proc {}
    before = Memory.bytes_of_objects
    20_000.times { |number| batch.get("/#{number}", &taken) }
    assert_operator (Memory.bytes_of_objects - before) / 20_000, :<=, 1024
  end

  def test_requests_that_a_thread_adds_while_runs_begin_and_end_get_their_responses
    http = client("http://a.test")
    Trunkline::Stubs.use do |stubs|
      stubs.on(/a\.test/).answer(200)
      10.times do
        batch = http.batch
        adder = Thread.new { 150.times { |number| batch.get("/#{number}") && Thread.pass } }
        batch.run while adder.alive?
        adder.join
        assert_equal [200] * 150, batch.run.map { |result| result.is_a?(Trunkline::Response) ? result.status : result }
      end
    end
  end

  def test_requests_that_threads_add_before_a_run
    http = client("http://a.test")
    Trunkline::Stubs.use do |stubs|
      stubs.on(/a\.test/).answer(200)
      batch = http.batch
      Array.new(4) { Thread.new { 500.times { batch.get("/") } } }.each(&:join)
      assert_equal [200] * 2000, batch.run.map(&:status)
    end
  end
end
