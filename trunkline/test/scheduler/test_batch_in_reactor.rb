# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/batch_tests"
require_relative "../support/future_tests"
require_relative "../support/in_reactor"
require_relative "../support/stream_tests"

# Runs the tests of plain threads in a reactor.
TestBatchInReactor = InReactor.test_case(BatchTests) do
  def test_other_fibers_go_on_while_a_batch_waits
    ticks = 0
    server = serve do |connection|
      while connection.read_request
        sleep 0.01 until ticks >= 4
        connection << response_bytes
      end
    end
    Sync do |task|
      ticker = task.async { loop { sleep(0.02) && ticks += 1 } }
      results = client(server.url).batch { |batch| 3.times { batch.get("/") } }
      ticker.stop
      assert_equal [200] * 3, results.map(&:status), "answered when the ticker has had its turns"
    end
  end

  def test_batches_of_several_fibers_run_side_by_side
    probe = ConcurrencyProbe.new(6)
    http = client(serve_held(probe).url)
    results = Sync { |task| Array.new(3) { task.async { http.map(%w[/a /b]) } }.map(&:wait) }
    assert_equal([[200] * 2] * 3, results.map { |two| two.map(&:status) })
    assert_equal 6, probe.most
  end
end
TestBatchStreamsInReactor = InReactor.test_case(StreamTests)
TestFutureInReactor = InReactor.test_case(FutureTests)
