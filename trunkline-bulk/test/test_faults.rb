# frozen_string_literal: true

require_relative "test_helper"
require "logger"
require "stringio"
require_relative "support/servers"
require "trunkline/bulk/command"

# Faults of the environment during a run. Killed processes are tested in test_kills, restarts of the database in
# test_state_postgresql and test_state_mariadb. DEAD: seconds for which an origin is dead (rake bulk:faults).
class TestFaults < BulkTest
  DEAD = Float(ENV.fetch("DEAD", 3))
  FAKETIME = Dir["/usr/lib/*/faketime/libfaketimeMT.so.1"].first

  def assert_done(status, items)
    assert_equal [:done, items, 0, { "200" => items }],
                 [status.state, status.done, status.failed, status.counts]
  end

  def test_redis_is_restarted_under_a_run
    redis = Server.redis or skip "redis-server is not installed (bin/setup)"
    log = StringIO.new
    Trunkline::Bulk.configure { |config| [config.redis = redis.url, config.logger = Logger.new(log)] }
    server = serve
    run = bulk(Array.new(240) { |number| server.url("/#{number}") }, per_origin: 80, in_flight: 20)
    thread = Thread.new { run_bulk(run) }
    2.times do |count|
      eventually("it works") { server.total > 60 * (count + 1) }
      redis.halt
      eventually("it is said") { log.string.scan("cannot be reached").size == count + 1 }
      redis.start
      eventually("it is said") { log.string.scan("there again").size == count + 1 }
    end
    assert_done(thread.value, 240)
    assert_equal 240, server.total
  ensure
    redis&.stop
    Trunkline::Bulk.configure { |config| config.redis = config.logger = nil }
  end

  # The origin dies in the middle of the run, with requests in flight.
  def test_an_origin_dies_and_comes_back
    alive = serve { sleep(0.01) && [200, "ok"] }
    dying = serve { sleep(0.01) && [200, "ok"] }
    urls = Array.new(400) { |number| [alive, dying][number % 2].url("/#{number}") }
    thread = Thread.new { run_bulk(bulk(urls, slice: 50, hold: 600, retry: true, concurrency: 5)) }
    eventually("it works") { dying.total > 20 }
    dying.stop
    died = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    eventually("the others have ended", 60) { alive.total == 200 }
    sleep [died + DEAD - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max
    revived = serve(dying.port)
    assert_done(thread.value, 400)
    assert_equal 200, (dying.counts.keys | revived.counts.keys).size
    assert_equal 200, alive.total
  end

  # The state and the results are on a separate file system, which is full while there are items left.
  def test_a_disk_that_is_full
    disk = path("disk").tap { |folder| Dir.mkdir(folder) }
    mounted = Process.uid.zero? && system("mount -t tmpfs -o size=600k tmpfs #{disk}", err: File::NULL)
    skip "only root may mount" unless mounted

    server = serve { |target| [200, "#{target} " * 100] }
    File.write(path("urls.txt"), Array.new(2_000) { |number| server.url("/#{number}\n") }.join)
    argv = ["run", path("urls.txt"), "--out", "#{disk}/r.jsonl", "--fields", "key,body", "--resume"]
    code = "require \"trunkline/bulk/command\"; exit Trunkline::Bulk::Command.run(#{argv.inspect})"
    status = Process.wait2(Programs.start(code, path("output"))).last
    refute_predicate status, :success?
    assert_match(%r{No space left|disk is full|disk I/O}, File.read(path("output")))
    assert system("mount -o remount,size=20m #{disk}")
    status = Process.wait2(Programs.start(code, path("output"))).last
    assert_predicate status, :success?, File.read(path("output"))
    rows = File.readlines("#{disk}/r.jsonl").map { |line| JSON.parse(line) }
    assert_equal 2_000, rows.map { |row| row["key"] }.uniq.size
    rows.each { |row| assert_equal "/#{row["key"][/\d+\z/]} " * 100, row["body"] }
  ensure
    system("umount #{disk}") if mounted
  end

  CLOCK = { "LD_PRELOAD" => FAKETIME, "FAKETIME_NO_CACHE" => "1", "DONT_FAKE_MONOTONIC" => "1",
            "FAKETIME_DONT_FAKE_MONOTONIC" => "1" }.freeze

  # Replaces the file atomically, because the programs may read it at any moment.
  def move_clock(text)
    File.write(path("clock.new"), text)
    File.rename(path("clock.new"), path("clock"))
  end

  # Two processes work, and the time of day is set a day back, and an hour forward.
  def test_the_clock_is_set
    skip "libfaketime is not installed (bin/setup)" if FAKETIME.nil?

    server = serve { sleep(0.02) && [200, "ok"] }
    move_clock "+0"
    variables = { **CLOCK, "FAKETIME_TIMESTAMP_FILE" => path("clock") }
    code = <<~RUBY
      class Timed < Trunkline::Bulk
        source  { (0...400).lazy.map { |number| "#{server.url}/" + number.to_s } }
        request { |url| url }
        options slice: 20, concurrency: 4, timeout: 5, lease: 2
        result  { |*| File.write(#{path("times").inspect}, Time.now.to_i.to_s + "\\n", mode: "a") }
      end
      Timed.start("run", state: #{state.inspect}, progress: false)
    RUBY
    pids = Array.new(2) { |number| Programs.start(code, path("output#{number}"), variables) }
    ["-86400", "+3600"].each_with_index do |jump, count|
      eventually("it works") { server.total > 100 * (count + 1) }
      move_clock jump
    end
    pids.each { |pid| assert_predicate Process.wait2(pid).last, :success? }
    run = Trunkline::Bulk::State.of(state).run("Timed/run")
    assert_equal [:done, 400, 400], [run.state, run.done, server.total] # nothing was taken over
    times = File.readlines(path("times")).map(&:to_i)
    assert_operator times.max - times.min, :>, 80_000 # the clock was set
  end
end
