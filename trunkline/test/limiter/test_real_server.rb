# frozen_string_literal: true

require_relative "../test_helper"

# concurrency: :auto against a real server: Puma with a known number of workers and a bounded queue before them.
class TestLimiterRealServer < TrunklineTest
  WORKERS = 6
  QUEUE = 18
  SERVICE = 0.05
  SECONDS = RUBY_ENGINE == "jruby" ? 12 : 6 # JRuby spends some of them compiling

  def setup
    super
    @workers = Thread::SizedQueue.new(WORKERS)
    @present = @refused = 0
    @busy = 0.0
    @lock = Mutex.new
    @server = serve_rack(threads: WORKERS + QUEUE + 8) { respond_or_refuse }
  end

  def test_auto_finds_the_workers_of_a_server
    http = client(@server.url)
    completed = run_for(http, SECONDS)
    limits = http.stats.limits.fetch("http://127.0.0.1:#{@server.port}")

    # On a busy machine a worker sleeps longer than it should: the test counts the time for which workers had work.
    assert_operator @busy, :>=, 0.7 * SECONDS * WORKERS, "seconds that the workers were busy"
    assert_operator completed, :>=, 0.5 * SECONDS * WORKERS / SERVICE, "goodput, of what the workers can do"
    assert_operator @refused, :<=, 0.03 * completed
    assert_includes (0.6 * WORKERS)..(2.5 * WORKERS), @mean_limit, limits.inspect
    assert_includes %i[start cruise probe_up probe_down descent], limits[:state]
    refute_empty limits[:why]
  end

  def test_the_limit_is_remembered_for_the_origin
    http = client(@server.url)
    run_for(http, 2)
    known = http.stats.limits.values.last[:limit]
    first = nil
    http.batch(progress: ->(progress) { first ||= progress.limit }) { |batch| 40.times { batch.get("/") } }
    assert_in_delta known, first, 0.5 * known
  end

  private

  def run_for(http, seconds)
    completed = 0
    limits = []
    limit = monotonic + seconds
    endless = Enumerator.new { |requests| requests << "/" while monotonic < limit }
    http.each(endless, progress: ->(progress) { limits << progress.limit }) do |_, response|
      completed += 1 if response.status == 200
    end
    later = limits.drop(limits.size / 2)
    @mean_limit = later.sum.fdiv(later.size)
    completed
  end

  def respond_or_refuse
    present = @lock.synchronize { @present += 1 }
    if present > WORKERS + QUEUE
      @lock.synchronize { @refused += 1 }
      return [503, {}, []]
    end
    @workers << true
    began = monotonic
    sleep SERVICE
    @workers.pop
    @lock.synchronize { @busy += monotonic - began }
    [200, {}, ["done"]]
  ensure
    @lock.synchronize { @present -= 1 }
  end
end
