# frozen_string_literal: true

require_relative "../test_helper"

# The effects of real responses on the limit of their origin.
class TestLimiterResponses < TrunklineTest
  def test_a_rate_limit_is_learnt_and_respected
    http = assert_rate_limit_kept_to(concurrency: :auto)
    facts = http.stats.limits.fetch(@server.url.chomp("/"))
    refute_nil facts[:rate], facts.inspect
  end

  def test_a_fixed_concurrency_respects_a_rate_limit
    http = assert_rate_limit_kept_to(concurrency: 16)
    facts = http.stats.limits[@server.url.chomp("/")]
    assert_equal @known_before.inspect, facts.inspect, "what was asked for is not remembered"
  end

  [:auto, 4].product([503, 429]).each do |concurrency, status|
    define_method(:"test_retry_after_of_a_#{status}_holds_back_all_others_with_concurrency_#{concurrency}") do
      seen = Queue.new
      order = Mutex.new
      refused = Queue.new # closed after the refusal: no other request gets its response before
      server = serve do |connection|
        while connection.read_request
          next refused.pop || connection << response_bytes if order.synchronize { (seen << monotonic).size } > 1

          connection << response_bytes("", status: "#{status} No", "Retry-After" => 1)
          refused.close
        end
      end
      results = client(server.url).map(Array.new(32, "/"), concurrency: concurrency, max_in_flight: 4)
      assert_equal({ status => 1, 200 => 31 }, results.map(&:status).tally)
      first, *others = Array.new(32) { seen.pop }
      assert_operator others.count { |at| at - first < 0.95 }, :<, 16, "those that were started before it came"
    end
  end

  def test_back_pressure_leaves_a_fixed_concurrency_as_it_is
    probe = ConcurrencyProbe.new(4, 16)
    server = serve do |connection|
      while (request = connection.read_request)
        probe.wait unless request.target == "/busy"
        connection << (request.target == "/busy" ? response_bytes("", status: "503 Busy") : response_bytes)
      end
    end
    client(server.url).map(Array.new(4, "/busy") + Array.new(16, "/"), concurrency: 4)
    assert_equal 4, probe.most
  end

  def test_a_date_of_retry_after_is_honoured
    seen = []
    server = serve do |connection|
      while connection.read_request
        seen << monotonic
        later = { "Retry-After" => (Time.now + 2).httpdate }
        connection << (seen.size == 1 ? response_bytes("", status: "503 Busy", **later) : response_bytes)
      end
    end
    client(server.url).batch { |batch| batch.get("/") { batch.get("/") } }
    assert_operator seen[1] - seen[0], :>=, 0.9
  end

  def test_a_refused_connection_is_back_pressure
    url = "http://127.0.0.1:#{refused_port}"
    http = client
    http.map(Array.new(30, "#{url}/"))
    assert_operator http.stats.limits.fetch(url)[:limit], :<, 16
  end

  def test_timeouts_are_back_pressure_until_few_are_in_flight
    server = serve(&:stall)
    http = client(server.url, timeout: 0.3)
    results = http.map(Array.new(24, "/"))
    assert_equal [24, [Trunkline::TimeoutError]], [results.size, results.map { |error| error.class.superclass }.uniq]
    facts = http.stats.limits.fetch(server.url.chomp("/"))
    assert_includes Trunkline::Scheduler::OriginQueue::FEWEST_AT_TIMEOUTS...16, facts[:limit]
    assert_match(/\Aa timeout: from/, facts[:why])
  end

  # With one request in flight, half of those in flight would be none.
  def test_a_timeout_of_the_last_request_leaves_as_many_slots
    server = serve do |connection|
      while (request = connection.read_request)
        request.target == "/last" ? connection.stall : connection << response_bytes
      end
    end
    http = client(server.url)
    http.batch do |batch|
      15.times { batch.get("/") }
      batch.get("/last", timeout: 0.5)
    end
    facts = http.stats.limits.fetch(server.url.chomp("/"))
    assert_equal [Trunkline::Scheduler::OriginQueue::FEWEST_AT_TIMEOUTS, "a timeout: from 16 to 4"],
                 facts.values_at(:limit, :why)
  end

  def test_stats_report_the_limit_of_each_origin
    server = serve
    http = client(server.url)
    http.map(Array.new(40, "/"))
    facts = http.stats.limits.fetch(server.url.chomp("/"))
    assert_equal %i[last_probe limit rate state why], facts.keys.sort
    assert_instance_of Integer, facts[:limit]
    assert_includes %i[start cruise probe_up probe_down descent], facts[:state]
    assert_instance_of String, facts[:why]
  end

  def test_origins_have_separate_limits
    busy = serve(response_bytes("", status: "503 Busy"))
    quick = serve
    http = client
    http.map([busy.url, quick.url] * 20)
    limits = http.stats.limits
    assert_operator limits.fetch(busy.url.chomp("/"))[:limit], :<, limits.fetch(quick.url.chomp("/"))[:limit]
  end

  private

  # Uses a server that accepts ten requests in each quarter of a second.
  def assert_rate_limit_kept_to(concurrency:)
    taken = []
    refused = 0
    lock = Mutex.new
    @server = serve do |connection|
      while connection.read_request
        full = lock.synchronize do
          recent = taken.count { |at| at > monotonic - 0.25 }
          recent < 10 ? (taken << monotonic) && false : (refused += 1)
        end
        connection << (full ? response_bytes("", status: "429 Too Many Requests") : response_bytes)
      end
    end
    http = client(@server.url)
    @known_before = http.stats.limits[@server.url.chomp("/")] # from another test's server on the same port
    results = http.map(Array.new(160, "/"), concurrency: concurrency)
    assert_equal [160, [200, 429]], [results.size, results.map(&:status).uniq.sort]
    assert_operator refused, :<, 80
    http
  end
end
