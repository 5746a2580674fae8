# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require_relative "../test_helper"
require_relative "../support/numbered_responses"

# The option cache: the stores for responses, and the settings.
class TestCacheStores < TrunklineTest
  include NumberedResponses

  FRESH = { "Cache-Control" => "max-age=60", "ETag" => '"1"', "Vary" => "Accept" }.freeze

  # A store with the minimal interface.
  class Plain
    attr_reader :entries

    def initialize = @entries = {}
    def read(key) = @entries[key]
    def write(key, value) = @entries[key] = value
    def delete(key) = @entries.delete(key)
  end

  class Failing < Plain
    def read(_key) = raise(IOError, "down")
    alias write read
    alias delete read
  end

  # Records the logged lines.
  class Log
    attr_reader :lines

    def initialize = @lines = []
    def warn(line) = @lines << line
  end

  def with_logger
    Trunkline.configure { |defaults| defaults.logger = Log.new }
    yield Trunkline.logger
  ensure
    Trunkline.configure { |defaults| defaults.logger = nil }
  end

  def test_any_store
    Dir.mktmpdir do |folder|
      [Plain.new, Trunkline::Cache::Memory.new, ActiveSupport::Cache::MemoryStore.new,
       ActiveSupport::Cache::FileStore.new(folder), ActiveSupport::Cache::NullStore.new].each do |store|
        body = "bytes \xFF\x00\r\n\r\n".b
        server = serve(response_bytes(body, **FRESH, "X-Bytes" => "\xE4".b))
        bodies = Array.new(3) { cached(server, store).get("/") }
        assert_equal [body], bodies.map { |one| one.body.b }.uniq, store.class
        assert_equal ["\xE4".b], bodies.map { |one| one["x-bytes"].b }.uniq, store.class
        assert_equal store.is_a?(ActiveSupport::Cache::NullStore) ? 3 : 1, server.requests.size, store.class
        cached(server, store).post("/", body: "x")
        refute_predicate cached(server, store).get("/").cache, :hit?, store.class
      end
    end
  end

  def test_expires_in_covers_freshness_and_stale_use
    seconds = []
    store = Plain.new
    store.define_singleton_method(:write) { |key, value, expires_in:| seconds << expires_in && super(key, value) }
    server = serve_numbered { |request, _| { "Cache-Control" => request.target[/\w.*/] } }
    http = cached(server, store)
    %w[max-age=10 max-age=10,stale-if-error=20 max-age=10,stale-while-revalidate=30]
      .each { |path| http.get("/#{path}") }
    [5..10, 25..30, 35..40].zip(seconds) { |range, lifetime| assert_includes range, lifetime }
  end

  def test_a_key_shows_no_credential
    store = Plain.new
    cached(serve(response_bytes("x", **FRESH)), store).get("/?token=s3cret", bearer: "s3cret")
    assert_equal 2, store.entries.size
    store.entries.each_key { |key| assert_match(%r{\Atrunkline/1/\h{64}\z}, key) }
  end

  def test_a_damaged_entry_counts_as_a_miss
    store = Plain.new
    server = serve(response_bytes("x", "Cache-Control" => "max-age=60"))
    http = cached(server, store)
    http.get("/")
    key, good = store.entries.first
    [nil, 1, "", "x", Marshal.dump([1]), good[0..-2], "#{good}x", good.sub("1", "2"), good.sub('"head":', '"head":-'),
     good.sub("200,", '"200",'), good.sub('{"', '{"json_class":"String","'), good.sub("\r\n", "\n"),
     good.sub("HTTP/1.1", "HTTQ/1.1"), good.sub("Cache-Control:", "Cache Control:")].each do |bad|
      store.entries[key] = bad
      assert_equal "x", http.get("/").body
    end
    store.entries[key] = good
    assert_predicate http.get("/").cache, :hit?
  end

  def test_a_failing_store_fails_no_call_and_is_logged_once
    server = serve_numbered { FRESH }
    lines = with_logger do |log|
      http = cached(server, Failing.new)
      assert_equal %w[1 2], Array.new(2) { http.get("/").body[/\d/] }
      assert_equal 200, http.post("/", body: "x").status
      log.lines
    end
    assert_equal 1, lines.size
    assert_match(/cache: read of TestCacheStores::Failing failed with IOError/, lines.first)
  end

  def test_an_interrupt_of_a_store_is_no_failure
    store = Plain.new
    store.define_singleton_method(:read) { |_| sleep }
    http = cached(serve(response_bytes), store)
    thread = Thread.new { http.get("/") }
    thread.report_on_exception = false
    sleep 0.1
    thread.raise(IOError, "stop")
    assert_raises(IOError) { thread.value }
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { http.get("/") } }
  end

  # ---- memory ----

  def test_memory_is_bounded_and_forgets_what_was_used_longest_ago
    store = Trunkline::Cache::Memory.new(max_bytes: 10_000)
    server = serve_numbered { { "Cache-Control" => "max-age=60", "X-Long" => "x" * 1500 } }
    http = cached(server, store)
    %w[/a /b /c].each { |path| http.get(path) }
    assert_predicate http.get("/a").cache, :hit?
    (1..3).each { |number| http.get("/#{number}") }
    assert_equal [true, false], [http.get("/a").cache.hit?, http.get("/b").cache.hit?]
    assert_operator store.bytes, :<=, 10_000
    assert_operator store.size, :<=, 6
    store.clear
    assert_equal [0, 0], [store.size, store.bytes]
    refute_predicate http.get("/a").cache, :hit?
  end

  def test_memory_counts_bytes
    store = Trunkline::Cache::Memory.new(max_bytes: 5000)
    assert store.write("a", "x" * 1000)
    assert store.write("a", "x" * 2000)
    refute store.write("b", "x" * 5000)
    assert_equal 1 + 2000 + Trunkline::Cache::Memory::OVERHEAD, store.bytes
    assert store.delete("a")
    refute store.delete("a")
    assert_equal 0, store.bytes
    assert_includes store.inspect, "0 of 5000 bytes"
  end

  def test_memory_is_safe_among_threads
    store = Trunkline::Cache::Memory.new(max_bytes: 20_000)
    Array.new(4) do |thread|
      Thread.new { 2000.times { |i| store.write("#{thread} #{i % 50}", "x" * (i % 300)) && store.read("0 #{i % 50}") } }
    end.each(&:join)
    assert_operator store.bytes, :<=, 20_000
    (0...4).each { |thread| (0...50).each { |i| store.delete("#{thread} #{i}") } }
    assert_equal [0, 0], [store.size, store.bytes]
  end

  def test_a_forked_child_has_a_copy_of_the_store
    server = serve_numbered { { "Cache-Control" => "max-age=60" } }
    http = cached(server)
    http.get("/")
    reader, writer = IO.pipe
    pid = fork do
      writer << http.get("/").cache
      writer.close
      exit!(0)
    end
    writer.close
    assert_match(/\Atrunkline; hit; ttl=\d+\z/, reader.read)
    reader.close
    Process.wait(pid)
  end

  # ---- settings ----

  def test_large_responses_are_not_stored
    server = serve(response_bytes("x" * 2000, "Cache-Control" => "max-age=60"))
    http = cached(server, { max_entry_bytes: 1024 })
    2.times { refute_predicate http.get("/").cache, :hit? }
  end

  def test_a_response_with_too_many_headers_to_parse_again_is_not_stored
    many = (1..300).to_h { |number| ["X-#{number}", "x" * 1000] }
    server = serve(response_bytes("x", "Cache-Control" => "max-age=60", **many))
    http = cached(server, max_headers: 1000, max_header_bytes: 1_000_000)
    2.times { assert_equal [301, false], http.get("/").then { |one| [one.headers.size - 1, one.cache.hit?] } }
  end

  def test_settings_are_checked
    { 5 => /cache: must be true, false, an object with read, write and delete, or a Hash of store, heuristic/,
      { stores: 1 } => /did you mean store:/,
      { store: 1 } => /store: must be an object with read, write and delete, got 1/,
      { heuristic: 2 } => /heuristic: must be a number from 0.0 to 1.0, got 2/,
      { stale_if_error: -1 } => /stale_if_error: must be a number from 0.0 to .* \(seconds\), got -1/,
      { max_entry_bytes: 0 } => /max_entry_bytes: must be an Integer from 1024/ }.each do |value, message|
      assert_match(message, assert_raises(Trunkline::InvalidRequest) { client(cache: value) }.message)
    end
    assert_match(/max_bytes: must be an Integer of at least 1024, got 10/,
                 assert_raises(Trunkline::InvalidRequest) { Trunkline::Cache::Memory.new(max_bytes: 10) }.message)
  end

  def test_a_client_shows_nothing_of_its_cache
    server = serve(response_bytes("body of s3cret", **FRESH))
    http = cached(server)
    http.get("/", bearer: "s3cret")
    refute_includes http.inspect, "s3cret"
    store = Trunkline::Cache::Memory.new
    cached(server, store).get("/", bearer: "s3cret")
    refute_includes [store.inspect, store.to_s].join, "s3cret"
  end
end
