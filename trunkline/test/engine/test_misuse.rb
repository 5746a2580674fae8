# frozen_string_literal: true

require_relative "../test_helper"

# Calling any method of the engine, private or not, with any arguments raises an exception at most, and never crashes.
class TestEngineMisuse < TrunklineTest
  # ---- a Multi belongs to the thread that runs it

  def test_a_second_driver_is_refused
    server = serve { |connection| connection.read_request && connection.stall }
    multi = multi_for(server, "/")
    driver = Thread.new { results_of(multi) }
    server.wait_for_requests(1)
    assert_raises(ThreadError) { multi.run(0, []) }
    assert_raises(ThreadError) { multi.cancel(0) }
    assert_raises(ThreadError) { multi.close }
    multi.wake
    assert_empty driver.value
  ensure
    multi.close
  end

  # The caller's code that produces a body runs within Multi#run.
  {
    cancel: ->(multi, id) { multi.cancel(id) },
    close: ->(multi, _) { multi.close },
    run: ->(multi, _) { multi.run(0, []) rescue $! }, # rubocop:disable Style/RescueModifier, Style/SpecialGlobalVars
    throw: ->(_, _) { throw :out },
    break: ->(_, _) { raise StopIteration },
    exit: ->(_, _) { raise SystemExit }
  }.each do |name, act|
    define_method(:"test_#{name}_while_a_request_body_is_read") do
      server = serve { |connection| connection.read_head_only && connection.stall }
      id = nil
      multi = nil
      producer = Producer.new { act.call(multi, id) && "x" }
      multi = multi_for(server, "/", producer)
      id = @ids.last
      catch(:out) do
        multi.run(0.5, [])
      rescue SystemExit
        nil
      end
      assert_operator multi.close.size, :<=, 1
    end
  end

  def test_another_thread_cancels_while_a_large_body_is_copied
    server = serve(chunked_response(*(["x" * 4_000_000] * 4)))
    multi = Trunkline::Engine::Multi.new(pool)
    ids = Array.new(8) { |number| multi.add(request(server, "/#{number}"), nil, number) }
    refused = 0
    other = Thread.new do
      until_refused { multi.cancel(0) } # waits until run has started, since before the requests could be cancelled
      ids.cycle do |id|
        multi.cancel(id)
      rescue ThreadError
        refused += 1
      end
    end
    results = []
    multi.run(nil, results) while multi.size.positive?
    assert_operator refused, :>, 0
  ensure
    other.kill.join
    multi.close
  end

  def test_another_thread_closes_while_a_request_body_is_read
    server = serve { |connection| connection << response_bytes if connection.read_request }
    refused = nil
    pieces = ["x", nil]
    multi = multi_for(server, "/", Producer.new do
      Thread.new { multi.close }.tap { |thread| thread.report_on_exception = false }.join
    rescue ThreadError => error
      refused = error
      pieces.shift
    end)
    multi.run(2, [])
    assert_kind_of ThreadError, refused
  ensure
    multi.close
  end

  def test_the_response_of_a_stream_is_the_multis_until_it_is_over
    server = serve(chunked_response("one", "two"))
    multi = Trunkline::Engine::Multi.new(pool)
    multi.add(request(server, "/", streaming: true), nil, :tag)
    response = results_of(multi)[1]
    assert_raises(ThreadError) { response.close }
    assert_raises(ThreadError) { response.body }
    results = []
    multi.run(nil, results) until results.each_slice(3).any? { |_, result| result.nil? }
    response.close
    assert_equal "", response.body
  ensure
    multi.close
  end

  def test_the_response_of_a_cancelled_stream_raises_cancelled
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :stall]])
    multi = Trunkline::Engine::Multi.new(pool)
    id = multi.add(request(server, "/", streaming: true), nil, :tag)
    response = results_of(multi)[1]
    assert multi.cancel(id)
    assert_raises(Trunkline::Cancelled) { response.body }
  ensure
    multi.close
  end

  # ---- wrong arguments

  REFUSED = {
    "a Multi's request" => [TypeError, ->(multi, _, _) { multi.add("x", nil, nil) }],
    "a Multi's deadline" => [TypeError, ->(multi, request, _) { multi.add(request, "x", nil) }],
    "a request of no client" => [ArgumentError, lambda { |_, _, pool|
      Trunkline::Engine.connect(pool, Trunkline::Request.new("GET", nil, []))
    }],
    "a Multi's timeout" => [TypeError, ->(multi, _, _) { multi.run("x", []) }],
    "a Multi's id" => [TypeError, ->(multi, _, _) { multi.cancel("x") }],
    "max_buffered_bytes" => [TypeError, ->(*) { Trunkline::Engine.max_buffered_bytes = "x" }],
    "max_connections" => [TypeError, ->(*) { Trunkline::Engine.max_connections = "x" }],
    "too many connections" => [RangeError, ->(*) { Trunkline::Engine.max_connections = 1 << 40 }],
    "the owner of connections" => [TypeError, ->(_, _, pool) { pool.close_idle("x") }],
    "the request for a WebSocket" => [TypeError, ->(_, _, pool) { pool.takes_websocket?(nil) }],
    "the pool of a call" => [TypeError, ->(_, request, _) { Trunkline::Engine.perform(nil, request, nil, nil) }],
    "the request of a call" => [TypeError, ->(_, _, pool) { Trunkline::Engine.perform(pool, nil, nil, nil) }],
    "the deadline of a call" => [TypeError, ->(_, made, pool) { Trunkline::Engine.perform(pool, made, "x", nil) }],
    "the list of a call" => [TypeError, ->(_, request, pool) { Trunkline::Engine.perform(pool, request, nil, "x") }],
    "the request to connect" => [TypeError, ->(_, _, pool) { Trunkline::Engine.connect(pool, nil) }],
    "the head of a stub" => [TypeError, ->(_, request, _) { Trunkline::Engine.response(request, nil, "") }],
    "options that are no Hash" => [TypeError, ->(*) { Trunkline::RequestBuilder.per_call?(nil) }],
    "a pool that is only allocated" => [ArgumentError, ->(*) { Trunkline::Engine::Pool.allocate.stats }]
  }.freeze

  REFUSED.each do |name, (error, call)|
    define_method(:"test_#{name.tr(" '", "_")}_is_refused") do
      multi = Trunkline::Engine::Multi.new(pool)
      made = http.instance_variable_get(:@requests).build("GET", "http://127.0.0.1:9", nil, :buffered)
      assert_raises(error) { call.call(multi, made, pool) }
      assert_equal 0, multi.size
    ensure
      multi.close
    end
  end

  def test_the_response_of_connect_is_empty
    response = Trunkline::Engine.connect(pool, request(serve, "/"))
    assert_equal [0, "", {}, "", false], [response.status, response.reason, response._fields_by_name, response.body,
                                          response.complete?]
  end

  # ---- any method with any arguments

  RANDOM_CALLS = <<~RUBY
    random = Random.new(Integer(ENV.fetch("SEED")))
    engine = Trunkline::Engine
    client = pool = good = multi = nil
    renew = lambda do
      client = Trunkline.new(fast, timeout: 0.2)
      pool = client.instance_variable_get(:@pool)
      good = client.instance_variable_get(:@requests)
      multi = engine::Multi.new(pool)
    end
    renew.call
    request = -> { good.build("GET", "/", nil, :buffered) }
    streamed = -> { good.build("GET", "/", nil, :streamed) }
    post = -> { good.build("POST", "/", { json: { a: 1 }, params: { q: 1 }, headers: { "X-A" => "1" } }, :buffered) }
    detached = -> { Trunkline::Request.new("GET", nil, ["A", "b"]) }
    producer = Struct.new(:pieces) { def next_chunk = pieces.shift }
    halves = -> { client.get("/", stream: true) }
    classes = [engine::Pool, engine::Config, engine::Origin, engine::Multi, engine::JSONBatches, Trunkline::Request, Trunkline::RequestBuilder]
    values = [
      nil, true, false, 0, 1, -1, 1 << 70, -1.5, Float::NAN, Float::INFINITY, "", "text", "nul\\0", :symbol, [], {}, [nil],
      { proxy: 1 }, Object.new, ->(*) {}, "\\xFF".b, 1..2, Thread.current, Class, engine, ["a", "b"], ["a"], [1, 2]
    ]
    made = [
      -> { pool }, request, streamed, post, detached, -> { good }, -> { request.call.origin }, -> { engine::Multi.new(pool) }, halves, -> { halves.call.tap(&:close) },
      -> { client.get("/") }, -> { producer.new(%w[a b]) }, *classes.map { |type| -> { type.allocate } },
      *classes.map { |type| -> { type.allocate.freeze } }, -> { engine::Multi.new(pool).tap(&:close) },
      -> { request.call.dup }, -> { request.call.origin.dup }, -> { engine::Pool.new(2).tap(&:close) }
    ]
    made.push(-> { multi })
    json = -> { engine::JSONBatches.new(:document, [nil], { limit: 9, max_nesting: 9 }) }
    made.push(json, -> { json.call.tap { |scanner| scanner.feed("[1,[2],3", 0) && scanner.take } }, -> { json.call.finish })
    any = -> { random.rand < 0.5 ? values.sample(random: random) : made.sample(random: random).call }
    own = ->(object) { (object.methods(false) + object.class.instance_methods(false) + object.class.private_instance_methods(false)).uniq }
    skipped = %i[inspect pretty_print]
    once = lambda do
      target = random.rand < 0.3 ? engine : made.sample(random: random).call
      methods = target.equal?(engine) ? engine.singleton_methods(false) : own[target] - skipped
      methods += %i[initialize dup clone] unless target.equal?(engine)
      name = methods.sample(random: random)
      arity = target.method(name).arity
      arguments = Array.new(arity.negative? ? random.rand(4) : arity) { any.call }
      arguments[0] = 0.01 if name == :run # or it may wait for ever
      arguments[1] = [] if name == :run && random.rand < 0.8
      target.__send__(name, *arguments)
    end
    Integer(ENV.fetch("CALLS")).times do |count|
      renew.call && GC.start if (count % 50).zero?
      multi.add(request.call, nil, 1)
      multi.add(streamed.call, nil, 2)
      once.call
    rescue Exception # whatever comes of it
      nil
    end
    puts :alive
  RUBY

  2.times do |seed|
    define_method(:"test_random_calls_#{seed}") do
      server = serve(chunked_response("one", "two"))
      environment = { "SEED" => seed.to_s, "CALLS" => ENV.fetch("MISUSE_CALLS", "3000") }
      result = Subprocess.run("fast = #{server.url.inspect}; $VERBOSE = nil\n#{RANDOM_CALLS}", environment)
      assert_predicate result.status, :success?, result.err
      assert_match(/alive/, result.out)
    end
  end

  private

  # Produces the pieces of a body.
  class Producer
    def initialize(&block)
      @block = block
    end

    def next_chunk = @block.call
  end

  def results_of(multi)
    [].tap { |results| multi.run(nil, results) }
  end

  def until_refused
    loop do
      yield
      Thread.pass
    end
  rescue ThreadError
    nil
  end

  def http = @http ||= client(timeout: 20)
  def pool = http.instance_variable_get(:@pool)

  def request(server, path, producer = nil, streaming: false)
    builder = http.instance_variable_get(:@requests)
    mode = streaming ? :streamed : :buffered
    return builder.build("GET", server.url(path), nil, mode) unless producer

    builder.build("POST", server.url(path), { body: StringIO.new("xx") }, mode)._with(producer, streaming)
  end

  def multi_for(server, *targets)
    multi = Trunkline::Engine::Multi.new(pool)
    @ids = [multi.add(request(server, *targets), nil, :tag)]
    multi
  end
end
