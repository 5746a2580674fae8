# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/future_tests"

class TestFuture < TrunklineTest
  include FutureTests

  def test_many_threads_may_wait_for_one
    server = serve do |connection|
      connection.read_request
      sleep 0.2
      connection << answer("one")
    end
    future = client(server.url).async.get("/")
    threads = Array.new(5) { Thread.new { future.value.body } }
    assert_equal ["one"] * 5, threads.map(&:value)
  end

  def test_a_forked_child_has_futures_of_its_own
    gate = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        gate.pop if request.target == "/parent"
        connection << answer(request.target)
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

  # Whoever comes first, giving it up or sending it, the other knows.
  def test_what_is_told_of_a_future_that_is_given_up_is_true
    given_up, under_way = Array.new(2) { future_of_an_order }
    assert_equal [true, false], [given_up.cancel, given_up.claim(1.0)]
    assert_equal :none, given_up.value.sent
    assert_equal [true, true], [under_way.claim(1.0), under_way.cancel]
    assert_equal :partial, under_way.value.sent
  end

  private

  def future_of_an_order
    future = Trunkline::Future.new
    future.order = Trunkline::Many::Requests.new(client("http://127.0.0.1:1")).order("/", 0)
    future
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
