# frozen_string_literal: true

require "active_job"
require "logger"
require_relative "test_helper"

ActiveJob::Base.logger = nil

# Runs as jobs, in this process.
class TestJobs < BulkTest
  # A constant, because jobs find the class by its name.
  class Fetched < Trunkline::Bulk
    class << self
      attr_accessor :urls, :seen
    end
    source { Fetched.urls }
    request { |url| url }
    result { |url, _, key| Fetched.seen << [url, key] }
    options slice: 3, timeout: 5, jobs: 4, lease: 1
  end

  def setup
    super
    @server = serve
    Fetched.urls = Array.new(20) { |number| @server.url("/#{number}") }
    Fetched.seen = Queue.new
  end

  def teardown
    adapter = SliceJob.queue_adapter
    adapter.shutdown(wait: true) if adapter.respond_to?(:shutdown)
    super
  end

  SliceJob = Trunkline::Bulk::SliceJob

  # A queue adapter that keeps jobs, so that the test can run or drop them.
  class StoringAdapter
    attr_reader :now, :later

    def initialize
      @now = []
      @later = []
    end

    def enqueue(job) = @now << job.serialize

    def enqueue_at(job, time) = @later << [job.serialize, time]

    def enqueue_after_transaction_commit? = false
  end

  def start(adapter = :inline)
    SliceJob.queue_adapter = adapter
    Fetched.start("run", on: :active_job, state: state)
  end

  def status = Fetched.status("run", state: state)

  def work(adapter)
    ActiveJob::Base.execute(adapter.now.shift) until adapter.now.empty?
  end

  def assert_complete
    assert_equal [:done, 20, 0], status.then { [_1.state, _1.done, _1.failed] }
    assert_equal 20, @server.counts.size
    assert_equal Array.new(20) { |number| "TestJobs::Fetched/run/#{number}" },
                 Array.new(Fetched.seen.size) { Fetched.seen.pop.last }.uniq.sort_by { |key| key[/\d+\z/].to_i }
  end

  def test_inline
    assert_equal :done, start.state
    assert_complete
    assert_equal 20, @server.total
  end

  def test_a_long_run_inline_does_not_fill_the_stack
    Fetched.urls = Array.new(150) { @server.url("/") }
    depths = []
    Fetched.seen.define_singleton_method(:<<) { |_| depths << caller.size }
    assert_equal 150, start.done
    assert_equal 1, depths.uniq.size
  end

  def test_async
    start(:async)
    eventually("it is done") { status.state == :done }
    assert_complete
  end

  def test_a_slice_for_each_job_and_no_more_jobs_than_are_to_wait
    adapter = StoringAdapter.new
    assert_equal :running, start(adapter).state
    assert_equal [4, 1], [adapter.now.size, adapter.later.size]
    assert_operator adapter.later[0][1], :>, Time.now.to_f
    assert_equal 0, @server.total
    ActiveJob::Base.execute(adapter.now.shift)
    assert_equal [3, 4], [@server.total, adapter.now.size]
    work(adapter)
    assert_complete
    assert_equal 1, adapter.later.size
    ActiveJob::Base.execute(adapter.later.shift[0])
    assert_equal [[], []], [adapter.now, adapter.later]
  end

  def test_the_watchdog_replaces_jobs_that_the_queue_has_lost
    adapter = StoringAdapter.new
    start(adapter)
    2.times { ActiveJob::Base.execute(adapter.now.shift) }
    adapter.now.clear
    sleep 2.1 # after two leases the jobs count as lost
    ActiveJob::Base.execute(adapter.later.shift[0])
    assert_equal [9, 4, 1], [@server.total, adapter.now.size, adapter.later.size]
    work(adapter)
    assert_complete
  end

  def test_a_watchdog_that_was_replaced_does_nothing
    adapter = StoringAdapter.new
    start(adapter)
    first = adapter.later.shift[0]
    ActiveJob::Base.execute(first)
    second = adapter.later.shift[0]
    ActiveJob::Base.execute(first)
    assert_empty adapter.later
    ActiveJob::Base.execute(second)
    assert_equal 1, adapter.later.size
  end

  def test_start_and_resume_go_on_where_all_jobs_are_lost
    adapter = StoringAdapter.new
    start(adapter)
    ActiveJob::Base.execute(adapter.now.shift)
    [adapter.now, adapter.later].each(&:clear)
    sleep 2.1
    start(adapter)
    assert_equal 4, adapter.now.size
    Fetched.pause("run", state: state)
    work(adapter)
    assert_equal 3, @server.total
    Fetched.resume("run", state: state)
    assert_equal 4, adapter.now.size
    work(adapter)
    assert_complete
  end

  def test_a_paused_run_keeps_its_watchdog_and_a_cancelled_one_does_not
    adapter = StoringAdapter.new
    start(adapter)
    { pause: 1, cancel: 0 }.each do |verb, watchdogs|
      Fetched.public_send(verb, "run", state: state)
      ActiveJob::Base.execute(adapter.later.shift[0])
      assert_equal watchdogs, adapter.later.size, verb
    end
  end

  def test_failed_items_come_again_as_jobs
    Fetched.urls = [@server.url("/"), "http://bad host/"]
    assert_equal 1, start.failed
    assert_equal 1, Fetched.retry_failed("run", state: state).failed
  end

  def test_a_queue_of_its_own
    adapter = StoringAdapter.new
    named = Class.new(Fetched) { options queue: :bulk }
    TestJobs.const_set(:Queued, named)
    SliceJob.queue_adapter = adapter
    named.start("run", on: :active_job, state: state)
    assert_equal ["bulk"], adapter.now.map { |job| job["queue_name"] }.uniq
  ensure
    TestJobs.send(:remove_const, :Queued)
  end

  def test_the_default_queue
    adapter = StoringAdapter.new
    start(adapter)
    SliceJob.queue_name_prefix = "app"
    Fetched.start("other", on: :active_job, state: state)
    assert_equal %w[default app_default], adapter.now.map { |job| job["queue_name"] }.uniq
    assert_equal %w[default app_default], adapter.later.map { |job, _| job["queue_name"] }
  ensure
    SliceJob.queue_name_prefix = nil
  end

  def test_a_queue_that_cannot_be_reached_for_a_moment
    adapter = StoringAdapter.new
    failures = 2
    adapter.define_singleton_method(:enqueue) { |job| (failures -= 1) >= 0 ? raise("no queue") : super(job) }
    start(adapter)
    assert_equal 4, adapter.now.size
  end

  def test_limits_without_redis_are_told_once
    Trunkline::Bulk::Limits.instance_variable_set(:@warned, nil)
    limited = Class.new(Fetched) { options per_origin: 1_000 }
    TestJobs.const_set(:Limited, limited)
    SliceJob.queue_adapter = StoringAdapter.new
    log = StringIO.new
    Trunkline::Bulk.configure { |config| config.logger = Logger.new(log) }
    %i[active_job here].each { |where| limited.start("run-#{where}", on: where, state: state, progress: false) }
    assert_equal 1, log.string.scan("per_origin and in_flight hold for each process alone").size, log
  ensure
    Trunkline::Bulk.configure { |config| config.logger = nil }
    TestJobs.send(:remove_const, :Limited)
  end

  def test_what_jobs_cannot_find_is_told
    error = assert_raises(Trunkline::InvalidRequest) { run_bulk(bulk([]), on: :active_job) }
    assert_match(/needs a class with a name/, error.message)
    state = Class.new(Trunkline::Bulk::State::SQLite).new(path("own.sqlite"))
    error = assert_raises(Trunkline::InvalidRequest) { Fetched.start("run", on: :active_job, state: state) }
    assert_match(/needs a state that jobs find/, error.message)
  end
end
