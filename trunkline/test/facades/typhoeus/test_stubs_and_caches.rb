# frozen_string_literal: true

require_relative "support"

# Responses without a network call: from before callbacks, stubs and caches; blocked connections.
class TestTyphoeusStubsAndCaches < TyphoeusTest
  # A cache with get and set by cache_key, like the caches that Typhoeus supports.
  class Store
    attr_reader :kept, :seconds

    def initialize
      @kept = {}
      @seconds = {}
    end

    def get(key) = @kept[key.respond_to?(:cache_key) ? key.cache_key : key]
    alias read get

    def set(key, value, seconds = nil)
      key = key.cache_key if key.respond_to?(:cache_key)
      @seconds[key] = seconds
      @kept[key] = value
    end

    def write(key, value, expires_in:) = set(key, value, expires_in)
    def expire(key, seconds) = @seconds[key] = seconds
  end

  def stub_with(url, options = {}, **facts) = Typhoeus.stub(url, options).and_return(Typhoeus::Response.new(facts))

  # Returns the responses of Request#run and of Hydra#run.
  def both(url, **options)
    alone = request(url, **options).run
    hydra = hydra()
    queued = request(url, **options).tap { |made| hydra.queue(made) }
    hydra.run
    [alone, queued.response]
  end

  def test_stubs_by_url_pattern_and_options
    stub_with("http://a.test/one", code: 201)
    stub_with(/two\z/, code: 202)
    stub_with("http://a.test/three", { method: :post }, code: 203)
    assert_equal [201, 201], both("http://a.test/one").map(&:code)
    assert_equal [202, 202], both("http://a.test/two").map(&:code)
    assert_equal [203, 203], both("http://a.test/three", method: :post).map(&:code)
    assert_equal 0, request("http://127.0.0.1:#{refused_port}/three").run.code
  end

  def test_stubbed_responses_follow_in_order_and_the_last_repeats
    expectation = Typhoeus.stub("http://a.test").and_return([Typhoeus::Response.new(code: 1),
                                                             Typhoeus::Response.new(code: 2)])
    assert_equal [1, 2, 2], Array.new(3) { request("http://a.test").run.code }
    assert_equal 3, Typhoeus::Expectation.all.first.response_counter
    assert_equal 2, expectation.size
  end

  def test_a_stub_block_gets_the_request
    Typhoeus.stub("http://a.test") { |made| Typhoeus::Response.new(code: 200, body: made.options[:params][:a]) }
    assert_equal "x", request("http://a.test", params: { a: "x" }).run.body
  end

  def test_stubbed_responses_reach_callbacks_and_are_marked
    stub_with("http://a.test", code: 200, body: "b", headers: { "A" => "1" })
    Typhoeus::Expectation.all.first.stubbed_from(:tests)
    reported = []
    made = request("http://a.test")
    made.on_headers { |response| reported << response.headers["a"] }
    made.on_body { |piece| reported << piece }
    made.on_success { reported << :success }
    assert_equal :tests, made.run.mock
    assert_equal ["1", "b", :success], reported
  end

  def test_a_stub_without_a_response
    Typhoeus.stub("http://a.test")
    assert_raises(Typhoeus::Errors::NoResponse) { request("http://a.test").run }
    Typhoeus.stub("http://b.test") { "no response" }
    assert_raises(Typhoeus::Errors::NoResponse) { request("http://b.test").run }
  end

  def test_blocked_connections
    server = serve
    Typhoeus::Config.block_connection = true
    error = assert_raises(Typhoeus::Errors::NoStub) { request(server.url).run }
    assert_includes error.message, server.url
    hydra = hydra()
    hydra.queue(request(server.url))
    assert_raises(Typhoeus::Errors::NoStub) { hydra.run }
    assert_equal 200, Typhoeus.with_connection { request(server.url).run.code }
    assert_predicate request(server.url), :blocked?
    open = request(server.url)
    open.block_connection = false
    assert_equal 200, open.run.code
  end

  def test_a_stub_may_let_its_request_through
    server = serve
    Typhoeus.stub(server.url) { |made| Typhoeus.with_connection { made.run } }
    response = request(server.url).run
    assert_equal [200, nil, 1], [response.code, response.mock, server.requests.size]
  end

  def test_with_connection_applies_only_to_its_thread
    Typhoeus::Config.block_connection = true
    Typhoeus.with_connection do
      refute_predicate request("http://a.test"), :blocked?
      assert(Thread.new { request("http://a.test").blocked? }.value)
    end
    assert_predicate request("http://a.test"), :blocked?
  end

  def test_before_may_respond_refuse_or_let_pass
    server = serve
    Typhoeus.before { |made| made.options[:answer] ? Typhoeus::Response.new(code: 418) : made.options[:pass] }
    made = request(server.url)
    made.options[:pass] = false
    assert_nil made.run
    made = request(server.url)
    made.options[:answer] = true
    assert_equal [418, true], [made.run.code, made.response.mock]
    assert_empty server.requests
    Typhoeus::Config.exclude_features = [:before]
    assert_equal 200, request(server.url).run.code
  end

  def test_a_request_has_before_callbacks_of_its_own
    server = serve
    made = request(server.url)
    made.before { |one| one.options[:headers]["X-Late"] = "1" }
    made.run
    assert_equal "1", server.requests.first["X-Late"]
  end

  def test_the_second_response_comes_from_the_cache
    server = serve(response_bytes("kept"))
    Typhoeus::Config.cache = Store.new
    first, second = Array.new(2) { request(server.url).run }
    assert_equal [1, false, true], [server.requests.size, first.cached?, second.cached?]
    assert_equal "kept", second.body
    assert_predicate both(server.url).last, :cached?
    refute_predicate request(server.url, cache: false).run, :cached?
  end

  def test_failures_and_streams_are_not_cached
    store = Store.new
    request("127.0.0.1:#{refused_port}", cache: store).run
    streaming = request(serve.url, cache: store)
    streaming.on_body { nil }
    streaming.run
    assert_empty store.kept
  end

  CACHES = [Typhoeus::Cache::Dalli, Typhoeus::Cache::Redis, Typhoeus::Cache::Rails].freeze

  def test_caches_use_key_and_ttl
    server = serve(response_bytes("kept"))
    CACHES.each do |kind|
      store = Store.new
      cache = kind.new(store, default_ttl: 7)
      before = server.requests.size
      bodies = Array.new(2) { request(server.url, cache: cache).run.body }
      assert_equal [%w[kept kept], before + 1, [7]], [bodies, server.requests.size, store.seconds.values], kind
      request(server.url("/own"), cache: cache, cache_ttl: 2).run
      assert_equal [7, 2], store.seconds.values
    end
  end

  # Runs in a separate process, since ActiveSupport changes Ruby's core classes.
  def test_a_store_of_rails
    server = serve(response_bytes("kept"))
    result = Subprocess.run(<<~RUBY, gems: nil)
      $VERBOSE = nil
      require "active_support"
      require "active_support/cache"
      require "trunkline/typhoeus"
      cache = Typhoeus::Cache::Rails.new(ActiveSupport::Cache::MemoryStore.new, default_ttl: 60)
      responses = Array.new(2) { Typhoeus.get("#{server.url}", cache: cache, timeout: #{PATIENCE}) }
      puts responses.map { |response| [response.code, response.body, response.cached?].join(" ") }
    RUBY
    assert_equal ["200 kept false", "200 kept true"], result.out.lines(chomp: true), result.err
    assert_equal 1, server.requests.size
  end

  def test_require_typhoeus_finds_it_there
    refute require("typhoeus")
    assert_equal "1.7.1", Typhoeus::VERSION
  end

  def test_typhoeus_itself_is_not_replaced
    program = 'module Typhoeus; VERSION = "1"; end; begin; require "trunkline/typhoeus"; rescue LoadError; puts $!; end'
    out, = Subprocess.run_command({}, [RbConfig.ruby, "-I", Subprocess::LIB, "-e", program])
    assert_match(/Typhoeus 1 itself is loaded/, out)
  end

  def test_a_child_of_a_fork_uses_a_hydra_of_its_parent
    server = serve
    hydra = hydra()
    hydra.queue(request(server.url))
    hydra.run
    reader, writer = IO.pipe
    child = fork do
      made = request(server.url).tap { |one| hydra.queue(one) }
      hydra.run
      writer.write(made.response.code.to_s)
      writer.close
      exit!(0)
    end
    writer.close
    assert_equal "200", reader.read
  ensure
    Process.wait(child) if child
    [reader, writer].compact.each(&:close)
  end
end
