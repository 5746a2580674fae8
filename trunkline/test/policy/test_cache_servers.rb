# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "dalli"
require "logger"
require "open3"
require_relative "../test_helper"
require_relative "../support/numbered_responses"

# The option cache: with the stores of ActiveSupport whose data is on a server (Redis, Memcached) or in a database
# (Solid Cache).
class TestCacheServers < TrunklineTest
  include NumberedResponses

  FRESH = { "Cache-Control" => "max-age=60", "ETag" => '"1"', "Vary" => "Accept" }.freeze

  def setup
    super
    @daemons = []
    @clients = []
  end

  # Closes the clients of the stores, since JRuby does not collect sockets.
  def teardown
    @clients.each { |client| client.with(&:close) }
    @daemons.each { |pid| stop(pid) }
    super
  end

  def stop(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
    @daemons.delete(pid)
  end

  # Starts the server of a store.
  # @yieldparam port [Integer] a free port
  # @yieldreturn [Array<String>] the server's command
  # @return [Array(Integer, Integer)] port and process id
  def daemon(name)
    on_path = ENV["PATH"].split(":").any? { |folder| File.executable?(File.join(folder, name)) }
    skip "#{name} is not installed (bin/setup)" unless on_path

    port = TCPServer.open("127.0.0.1", 0) { |probe| probe.addr[1] }
    pid = spawn(*yield(port), out: File::NULL, err: File::NULL)
    @daemons << pid
    wait_for(port)
    [port, pid]
  end

  def wait_for(port)
    limit = Trunkline::Engine.now + 10
    begin
      TCPSocket.new("127.0.0.1", port).close
    rescue SystemCallError
      raise if Trunkline::Engine.now > limit

      sleep 0.05
      retry
    end
  end

  def redis(**options)
    port, pid = daemon("redis-server") do |free|
      ["redis-server", "--bind", "127.0.0.1", "--port", free.to_s, "--save", "", "--appendonly", "no"]
    end
    url = "redis://127.0.0.1:#{port}/0"
    store = ActiveSupport::Cache::RedisCacheStore.new(url: url, reconnect_attempts: 0, **options)
    @clients << store.redis
    [store, pid]
  end

  def memcached
    port, pid = daemon("memcached") do |free|
      ["memcached", "-l", "127.0.0.1", "-p", free.to_s, "-U", "0", *(%w[-u nobody] if Process.uid.zero?)]
    end
    Dalli.logger = Logger.new(nil)
    store = ActiveSupport::Cache::MemCacheStore.new("127.0.0.1:#{port}", socket_timeout: 1, protocol: :meta)
    @clients << store.instance_variable_get(:@data)
    [store, pid]
  end

  def keeps(store)
    body = "bytes \xFF\x00\r\n\r\n".b
    server = serve(response_bytes(body, **FRESH, "X-Bytes" => "\xE4".b))
    responses = Array.new(3) { cached(server, store).get("/") }
    assert_equal [body], responses.map { |one| one.body.b }.uniq
    assert_equal ["\xE4".b], responses.map { |one| one["x-bytes"].b }.uniq
    assert_equal [false, true, true], responses.map { |one| one.cache.hit? }
    assert_equal body, cached(server, store).get("/", stream: true).body.b
    assert_equal 1, server.requests.size
    cached(server, store).post("/", body: "x")
    refute_predicate cached(server, store).get("/").cache, :hit?
  end

  # The store stops during the test: each call must still get its response.
  def goes_on_without(store, pid)
    http = cached(serve_numbered { FRESH }, store)
    http.get("/")
    assert_predicate http.get("/").cache, :hit?
    stop(pid)
    assert_equal %w[2 3 4], Array.new(3) { http.get("/").body[/\d/] }
    assert_equal 200, http.post("/", body: "x").status
  end

  def test_redis = keeps(redis.first)

  def test_redis_that_stops = goes_on_without(*redis)

  # By default, ActiveSupport's store logs the error to its own logger, and does not raise.
  def test_a_store_that_raises_is_logged_once
    log = StringIO.new
    Trunkline.configure { |defaults| defaults.logger = Logger.new(log) }
    goes_on_without(*redis(error_handler: ->(exception:, **) { raise exception }))
    assert_equal 1, log.string.scan("cache: read of ActiveSupport::Cache::RedisCacheStore failed").size
    assert_equal 1, log.string.lines.size
  ensure
    Trunkline.configure { |defaults| defaults.logger = nil }
  end

  def test_memcached = keeps(memcached.first)

  def test_memcached_that_stops = goes_on_without(*memcached)

  # Runs in a separate process, since it loads Rails and a database.
  SOLID_CACHE = <<~RUBY
    require "rails"
    require "active_record/railtie"
    require "solid_cache"
    require "trunkline"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ARGV[1])
    ActiveRecord::Migration.verbose = false
    load File.join(ARGV[2], "lib/generators/solid_cache/install/templates/db/cache_schema.rb")
    Zeitwerk::Loader.new.tap { |loader| loader.push_dir(File.join(ARGV[2], "app/models")) && loader.setup }
    http = Trunkline.new(ARGV[0], timeout: 5, cache: ActiveSupport::Cache.lookup_store(:solid_cache_store))
    print Array.new(3) { http.get("/").then { |one| [one.body, one.cache.hit?] } }.inspect
  RUBY

  def test_solid_cache
    server = serve_numbered { FRESH }
    Dir.mktmpdir do |folder|
      out, err, status = Open3.capture3(RbConfig.ruby, "-W0", "-I#{File.expand_path("../../lib", __dir__)}", "-e",
                                        SOLID_CACHE, server.url, "#{folder}/cache.sqlite3",
                                        Gem.loaded_specs.fetch("solid_cache").full_gem_path)
      assert_predicate status, :success?, err
      assert_equal [["answer 1", false], ["answer 1", true], ["answer 1", true]].inspect, out, err
    end
    assert_equal 1, server.requests.size
  end
end
