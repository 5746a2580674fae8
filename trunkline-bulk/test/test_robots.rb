# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/servers"

# The option robots: of a bulk class.
class TestRobots < BulkTest
  RULES = "User-agent: *\nDisallow: /\n\nUser-agent: Tested\nDisallow: /private\n"

  def site(robots)
    serve { |target| target == "/robots.txt" ? robots.call : [200, "ok"] }
  end

  def counts_of(urls, **options)
    run_bulk(bulk(urls, robots: "Tested", **options)).counts
  end

  def test_what_is_forbidden_is_not_sent
    server = site(-> { [200, RULES] })
    paths = %w[/ /private /private/2 /public?x=1 /robots.txt]
    assert_equal({ "200" => 3, "robots.txt" => 2 }, counts_of(paths.map { |path| server.url(path) }))
    assert_equal 2, server.counts["/robots.txt"] # once for the rules, once as an item
    refute server.counts.key?("/private")
    assert_equal({ "robots.txt" => 1 }, run_bulk(bulk([server.url("/")], robots: "Other"), "other").counts)
  end

  def test_a_file_that_is_not_there_allows_all
    assert_equal({ "200" => 1 }, counts_of([site(-> { [404, "none"] }).url("/private")]))
  end

  def test_a_file_that_cannot_be_got_allows_nothing
    broken = site(-> { [500, "no"] })
    dead = serve.tap(&:stop)
    run = bulk([broken.url("/"), dead.url("/")], robots: "Tested", hold: 0.5)
    assert_equal 2, run_bulk(run).failed
    assert_match(%r{/robots.txt cannot be got: status 500}, run.failures("run", state: state).first.message)
    assert_equal 0, broken.counts["/"].to_i
  end

  def test_other_origins_go_on_while_a_file_is_slow
    answered = Queue.new
    slow = site(-> { answered.pop && [200, RULES] })
    fast = site(-> { [200, ""] })
    urls = Array.new(50) { |number| [slow, fast][number % 2].url("/#{number}") }
    thread = Thread.new { counts_of(urls, slice: 50) }
    eventually("the others are done") { fast.counts.size == 26 }
    assert_equal 1, slow.total
    answered << true
    assert_equal({ "200" => 50 }, thread.value)
  end

  # A crawl of many origins, some of which cannot be reached.
  def test_others_go_on_while_files_cannot_be_got
    refused = serve.tap(&:stop)
    dead = Array.new(100) { |number| refused.url("/").sub("127.0.0.1", "127.0.1.#{number + 1}") }
    site = site(-> { [200, ""] })
    urls = dead.flat_map { |url| ["#{url}1", "#{url}2"] } + Array.new(20) { |number| site.url("/#{number}") }
    thread = Thread.new { run_bulk(bulk(urls, robots: "Tested", hold: 6, slice: urls.size)) }
    eventually("the others are done") { site.counts.size == 21 || !thread.alive? }
    status = thread.value
    assert_equal [{ "200" => 20 }, 200], [status.counts.slice("200"), status.failed]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def test_a_delay_is_kept_to_while_others_go_on
    times = []
    delayed = serve do |target|
      next [200, "User-agent: *\nCrawl-delay: 1\nDisallow: /private\n"] if target == "/robots.txt"

      times << now
      [200, "ok"]
    end
    others = []
    fast = site(-> { others << now && [200, ""] })
    urls = Array.new(4) { |number| delayed.url("/#{number}") } + [delayed.url("/private")]
    urls += Array.new(40) { |number| fast.url("/#{number}") }
    counts = counts_of(urls, slice: 9, concurrency: 8, timeout: 0.9)
    assert_equal({ "200" => 44, "robots.txt" => 1 }, counts)
    times.each_cons(2) { |one, another| assert_operator another - one, :>, 0.9 }
    assert_operator times.last - times.first, :<, 8
  end

  # Two processes with one Redis.
  def test_files_and_delays_are_those_of_a_fleet
    redis = Server.redis or skip "redis-server is not installed (bin/setup)"
    times = Queue.new
    server = serve do |target|
      next [200, "User-agent: *\nCrawl-delay: 1\n"] if target == "/robots.txt"

      times << now
      [200, "ok"]
    end
    code = <<~RUBY
      Trunkline::Bulk.configure { |config| config.redis = #{redis.url.inspect} }
      class Crawled < Trunkline::Bulk
        source  { (0...4).map { |number| #{server.url("/").inspect} + number.to_s } }
        request { |url| url }
        options slice: 1, timeout: 5, robots: "Tested"
        result  { |*| nil }
      end
      Crawled.start("run", state: #{state.inspect}, progress: false)
    RUBY
    pids = Array.new(2) { |number| Programs.start(code, path("output#{number}")) }
    pids.each { |pid| assert_predicate Process.wait2(pid).last, :success? }
    assert_equal 1, server.counts["/robots.txt"]
    times = Array.new(times.size) { times.pop }
    assert_equal 4, times.size
    times.each_cons(2) { |one, another| assert_operator another - one, :>, 0.7 }
  ensure
    redis&.stop
  end

  def test_a_name_that_is_none
    assert_raises(Trunkline::InvalidRequest) { bulk([], robots: "Tested/1.0 (me)") }
  end
end
