# frozen_string_literal: true

require "securerandom"
require_relative "../test_helper"
require_relative "../support/future_tests"

class TestFuture < TrunklineTest
  include FutureTests

  def test_many_threads_may_wait_for_a_future
    server = serve do |connection|
      connection.read_request
      sleep 0.2
      connection << response_bytes("one")
    end
    future = client(server.url).async.get("/")
    threads = Array.new(5) { Thread.new { future.value.body } }
    assert_equal ["one"] * 5, threads.map(&:value)
  end

  def test_a_forked_child_has_its_own_futures
    gate = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        gate.pop if request.target == "/parent"
        connection << response_bytes(request.target)
      end
    end
    http = client(server.url)
    future = http.async.get("/parent")
    child = fork_and_read do
      [future.value.class.name, http.async.get("/child").value(5)&.body].join(" ")
    end
    assert_equal "Trunkline::ForkedConnection /child", child
    gate << true
    assert_equal "/parent", future.value.body
  end

  # A future that is cancelled before its request starts reports :none as sent; afterwards it reports :partial.
  def test_a_cancelled_future_reports_what_was_sent
    given_up, under_way = Array.new(2) { future_of_a_request }
    assert_equal [true, false], [given_up.cancel, given_up.claim(1.0)]
    assert_equal :none, given_up.value.sent
    assert_equal [true, true], [under_way.claim(1.0), under_way.cancel]
    assert_equal :partial, under_way.value.sent
  end

  # A waiting future was cancelled: when the origin's running request ends, there is no request to start.
  def test_a_cancelled_waiting_future_leaves_its_origins_queue
    gates = Array.new(2) { Queue.new }
    arrived = Queue.new
    # Random names, so that no limit is remembered for them.
    names = Array.new(2) { "#{SecureRandom.hex(8)}.test" }
    addresses = names.zip(gates).to_h { |name, gate| ["#{name}:80", "127.0.0.1:#{held_by(gate, arrived).port}"] }
    http = client(connect_to: addresses)
    full = Trunkline::Limiter::AdaptiveLimit::START
    lonely, crowded = names.map { |name| Array.new(full + 1) { http.async.get("http://#{name}/") } }
    (full * 2).times { arrived.pop }
    lonely.last.cancel
    gates[0] << true
    eventually { lonely.first(full).any?(&:ready?) }
    gates.each { |gate| (full + 1).times { gate << true } }
    assert_equal(["held"], (lonely.first(full) + crowded).map { |future| future.value!(10).body }.uniq)
  end

  private

  def held_by(gate, arrived)
    serve do |connection|
      while connection.read_request
        arrived << true
        gate.pop
        connection << response_bytes("held")
      end
    end
  end

  def future_of_a_request
    Trunkline::Future.new(Trunkline::Scheduler::PendingRequest.new)
  end

  def fork_and_read
    reader, writer = IO.pipe
    pid = fork do
      writer.write(yield)
      writer.close
      exit!(0)
    end
    writer.close
    reader.read
  ensure
    Process.wait(pid)
    reader.close
  end
end
