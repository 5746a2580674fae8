# frozen_string_literal: true

require_relative "test_helper"

# Runs in this process.
class TestRuns < BulkTest
  def test_a_run
    server = serve { |target| target == "/3" ? [404, "none"] : [200, "body of #{target}"] }
    seen = {}
    keys = []
    run = bulk(Array.new(25) { |number| server.url("/#{number}") }, slice: 10) do |url, result, key|
      seen[url] = [result.status, result.body]
      keys << key
    end
    status = run_bulk(run)
    assert_equal [:done, 25, 0, 25], [status.state, status.done, status.failed, status.total]
    assert_equal({ "200" => 24, "404" => 1 }, status.counts)
    assert_equal [404, "none"], seen[server.url("/3")]
    assert_equal Array.new(25) { |number| "TestedBulk/run/#{number}" }, keys.sort_by { |key| key[/\d+\z/].to_i }
    assert_predicate status, :frozen?
    assert_match(/\Arun: done, 25 done, 0 failed of 25/, status.to_s)
  end

  def test_what_is_done_is_not_done_again
    server = serve
    run = bulk(Array.new(5) { |number| server.url("/#{number}") })
    2.times { assert_equal :done, run_bulk(run).state }
    assert_equal 5, server.total
    run_bulk(run, "another")
    assert_equal 10, server.total
  end

  def test_poison_items_are_recorded_and_passed_over
    server = serve
    failing = Class.new(bulk([server.url("/1"), "http://bad host/", :boom, server.url("/2"), nil,
                              server.url("/fail")])) do
      request { |item| item == :boom ? raise("no request") : item }
      result { |url, _| raise ArgumentError, "no result" if url.end_with?("fail") }
    end
    status = run_bulk(failing)
    assert_equal [:done, 3, 3], [status.state, status.done, status.failed]
    once = ["skipped", "InvalidRequest", "RuntimeError", "result: ArgumentError"].to_h { |outcome| [outcome, 1] }
    assert_equal({ "200" => 2, **once }, status.counts)
    failures = failing.failures("run", state: state).to_a
    assert_equal [[1, "http://bad host/"], [2, :boom], [5, server.url("/fail")]], failures.map { |one| one.to_a.first(2) }
    assert_equal "no request", failures[1].message
  end

  def test_what_failed_can_be_tried_again_with_the_same_keys
    broken = true
    server = serve { [200, "ok"] }
    keys = Hash.new(0)
    run = bulk(Array.new(12) { |number| server.url("/#{number}") }, slice: 5) do |url, _, key|
      keys[key] += 1
      raise "not now" if broken && url.end_with?("1")
    end
    assert_equal 2, run_bulk(run).failed # /1 and /11
    broken = false
    status = run.retry_failed("run", state: state)
    assert_equal [:running, 10, 0], [status.state, status.done, status.failed]
    assert_equal [:done, 12, 0, { "200" => 12 }], run_bulk(run).then { [_1.state, _1.done, _1.failed, _1.counts] }
    assert_equal({ 1 => 10, 2 => 2 }, keys.values.tally)
  end

  def test_forms_of_requests_and_items
    server = serve
    items = [{ id: 1, "tags" => ["a", :b, 1.5, nil, true], "=x" => "y", ":z" => "w" }, "b\xFF".b, [1, [2]]]
    seen = []
    run = Class.new(bulk(items)) do
      request do |item|
        item.is_a?(Hash) ? { method: :post, url: server.url("/h"), json: item } : [:get, server.url("/a")]
      end
      result { |item, _| seen << item }
    end
    assert_equal 3, run_bulk(run).done
    assert_equal items.map(&:inspect).sort, seen.map(&:inspect).sort
  end

  def test_an_item_that_cannot_be_kept_is_told
    error = assert_raises(Trunkline::Bulk::InvalidItem) { run_bulk(bulk([Object.new])) }
    assert_match(/got a Object/, error.message)
  end

  def test_classes_are_checked_before_anything_is_sent
    error = assert_raises(Trunkline::InvalidRequest) { run_bulk(Class.new(Trunkline::Bulk) { source { [] } }) }
    assert_match(/has no request, no result/, error.message)
    { slice: 0, concurrency: 1.5, per_origin: -1, lease: 0, timeout: "x", unknown: 1 }.each do |name, value|
      error = assert_raises(Trunkline::InvalidRequest) { Class.new(Trunkline::Bulk) { options(**{ name => value }) } }
      assert_match(/#{name}/, error.message)
    end
    assert_raises(Trunkline::InvalidRequest) { run_bulk(bulk([]), "../x") }
    assert_raises(Trunkline::InvalidRequest) { run_bulk(bulk([]), on: :moon) }
    assert_raises(Trunkline::Bulk::UnknownRun) { bulk([]).status("none", state: state) }
    assert_raises(Trunkline::InvalidRequest) { bulk([]).start("a", state: 5) }
  end

  def test_an_empty_source
    assert_equal [:done, 0, 0], run_bulk(bulk([])).then { [_1.state, _1.done, _1.total] }
  end

  def test_files
    server = serve
    File.write(path("urls.txt"), Array.new(30) { |number| server.url("/#{number}") }.join("\n"))
    File.write(path("rows.csv"), "url,name\n#{server.url("/csv")},x\n")
    File.write(path("rows.jsonl"), %({"url":"#{server.url("/json")}"}\n\n))
    %w[urls.txt rows.csv rows.jsonl].each do |name|
      run = Class.new(bulk(Pathname.new(path(name)), slice: 7)) do
        request { |item| item.is_a?(Hash) ? item["url"] : item }
      end
      assert_equal :done, run_bulk(run, name).state
    end
    assert_equal [32, 1, 1], [server.total, *server.counts.values_at("/csv", "/json")]
    lines = bulk(File.foreach(path("urls.txt"), chomp: true), slice: 7)
    assert_equal 30, run_bulk(lines, "enumerator").done
  end

  def test_sources_that_yield_several_values_or_have_no_end
    server = serve
    both = Class.new(bulk) do
      source { Enumerator.new { |all| 3.times { |number| all.yield(number, "/#{number}") } } }
      request { |_, target| server.url(target) }
    end
    assert_equal({ "200" => 3 }, run_bulk(both).counts)
    endless = Class.new(bulk(slice: 2)) do
      source { 1.. }
      request { |number| server.url("/#{number}") }
    end
    status = run_bulk(endless, "endless", progress: lambda { |now|
      endless.pause("endless", state: state) if now.done.positive?
    })
    assert_equal [:paused, nil], [status.state, status.total]
    assert_match(/\d+ done, 0 failed, /, status.to_s)
  end

  def test_lines_that_are_no_json_have_failed
    server = serve
    File.write(path("rows.jsonl"), %({"url":"#{server.url("/")}"}\n{"url"\xFF\n))
    run = Class.new(bulk(Pathname.new(path("rows.jsonl")))) { request { |row| row["url"] } }
    assert_equal({ "200" => 1, "Bulk::InvalidItem" => 1 }, run_bulk(run).counts)
    failure = run.failures("run", state: state).first
    assert_equal "{\"url\"\uFFFD", failure.item.to_s
    assert_match(/no JSON/, failure.message)
    assert_equal :running, run.retry_failed("run", state: state).state
    assert_equal 1, run_bulk(run).failed
  end

  def test_errors_whose_class_has_no_name
    server = serve
    run = Class.new(bulk([server.url("/1"), server.url("/2")])) do
      request { |url| url.end_with?("1") ? raise(Class.new(ArgumentError), "no request") : url }
      result { |*| raise Class.new(IOError), "no result" }
    end
    assert_equal({ "ArgumentError" => 1, "result: IOError" => 1 }, run_bulk(run).counts)
  end

  def test_a_dead_origin_is_held_back_while_others_go_on
    alive = serve
    dead = serve.tap(&:stop)
    urls = Array.new(400) { |number| [alive, dead][number % 2].url("/#{number}") }
    run = bulk(urls, slice: 50, hold: 60)
    revived = nil
    reviver = Thread.new do
      eventually("the others have ended") { alive.total == 200 }
      revived = serve(dead.port)
    end
    status = run_bulk(run)
    reviver.join
    assert_equal [:done, 400, 0], [status.state, status.done, status.failed]
    assert_equal 200, revived.total
  end

  def test_an_origin_that_stays_dead_fails
    dead = serve.tap(&:stop)
    status = run_bulk(bulk(Array.new(30) { |number| dead.url("/#{number}") }, hold: 0.5))
    assert_equal [:done, 0, 30], [status.state, status.done, status.failed]
    assert_equal 30, status.counts.values_at("ConnectError", "BreakerOpen").compact.sum
  end

  def test_retry_after_holds_the_origin
    times = []
    server = serve do
      times << Process.clock_gettime(Process::CLOCK_MONOTONIC)
      times.size <= 3 ? [429, "", "Retry-After: 1\r\n"] : [200, "ok"]
    end
    status = run_bulk(bulk(Array.new(6) { |number| server.url("/#{number}") }, concurrency: 3))
    assert_equal({ "200" => 6 }, status.counts)
    assert_operator times[3] - times[2], :>, 0.9
  end

  def test_retry_after_may_be_a_time
    times = []
    server = serve do
      times << Process.clock_gettime(Process::CLOCK_MONOTONIC)
      times.size == 1 ? [503, "", "Retry-After: #{(Time.now + 2).httpdate}\r\n"] : [200, "ok"]
    end
    assert_equal({ "200" => 1 }, run_bulk(bulk([server.url]), "time").counts)
    assert_operator times[1] - times[0], :>, 0.9
  end

  def test_what_a_server_asks_for_is_waited_for_no_longer_than_hold
    backoff = Trunkline::Bulk::OriginBackoff.new(5)
    entry = Trunkline::Bulk::Entry.new.set(nil, 0, "item").tap { |one| one.origin = "http://api.test" }
    assert backoff.defer?(entry, 3600.0)
    assert_in_delta 5, backoff.wait, 1
    none = serve { [503, "", "Retry-After: 0\r\n"] }
    assert_equal({ "503" => 1 }, run_bulk(bulk([none.url], hold: 1.5), "none").counts)
    assert_operator none.total, :<, 5
  end

  def test_a_slow_source_is_not_waited_for
    server = serve
    sent = nil
    run = bulk(slice: 100)
    run.source do
      Enumerator.new do |all|
        8.times do |number|
          sent = server.total
          all << server.url("/#{number}")
          sleep 0.4
        end
      end
    end
    assert_equal [:done, 8], run_bulk(run).then { [_1.state, _1.done] }
    assert_operator sent, :>, 0 # requests were sent before the last item was there
  end

  # A worker whose lease has expired for a moment gets it back.
  def test_a_lease_that_cannot_be_renewed_for_a_moment
    renewals = 0
    store = Trunkline::Bulk::State::SQLite.at(state)
    store.define_singleton_method(:renew) { |*args| (renewals += 1) == 1 ? raise(IOError, "gone") : super(*args) }
    server = serve { sleep(2) && [200, "ok"] }
    assert_equal :done, bulk([server.url], lease: 1).start("run", state: store, progress: false).state
    assert_operator renewals, :>, 1
  end

  def test_per_origin
    server = serve
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    run_bulk(bulk(Array.new(20) { |number| server.url("/#{number}") }, per_origin: 20))
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :>, 0.7
  end

  def test_pause_resume_and_cancel
    server = serve { sleep(0.05) && [200, "ok"] }
    run = bulk(Array.new(200) { |number| server.url("/#{number}") }, slice: 10, concurrency: 5)
    thread = Thread.new { run_bulk(run) }
    eventually("some are done") { server.total > 20 }
    assert_equal :paused, run.pause("run", state: state).state
    status = thread.value
    assert_equal :paused, status.state
    assert_operator status.done, :<, 200
    assert_equal server.total, status.done + status.failed
    assert_equal :running, run.resume("run", state: state).state
    run.cancel("run", state: state)
    assert_equal :cancelled, run_bulk(run).state
    run.resume("run", state: state)
    assert_equal [:done, 200], run_bulk(run).then { [_1.state, _1.done] }
    assert_equal 200, server.total
  end

  def test_progress
    server = serve
    statuses = []
    run_bulk(bulk([server.url("/")]), progress: ->(status) { statuses << status.to_s })
    assert_match(/done, 1 done/, statuses.last)
  end
end
