# frozen_string_literal: true

require_relative "test_helper"

# options robots:
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
    assert_equal 2, server.counts["/robots.txt"] # once for the rules, once for itself
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

  def test_a_name_that_is_none
    assert_raises(Trunkline::InvalidRequest) { bulk([], robots: "Tested/1.0 (me)") }
  end
end
