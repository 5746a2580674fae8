# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/batch_tests"
require_relative "support/future_tests"
require_relative "support/in_reactor"
require_relative "support/stream_tests"

# What holds in plain threads holds in a reactor.
TestBatchInReactor = InReactor.test_case(BatchTests) do
  def test_other_fibers_go_on_while_a_batch_waits
    server = serve { |connection| reply_with_target(connection, after: 0.3) }
    Sync do |task|
      ticks = 0
      ticker = task.async { loop { sleep(0.02) && ticks += 1 } }
      client(server.url).batch { |batch| 3.times { batch.get("/") } }
      ticker.stop
      assert_operator ticks, :>=, 4
    end
  end

  def test_batches_of_several_fibers_run_side_by_side
    server = serve { |connection| reply_with_target(connection, after: 0.3) }
    http = client(server.url)
    seconds, = timed do
      Sync { |task| Array.new(3) { task.async { http.map(%w[/a /b]) } }.each(&:wait) }
    end
    assert_operator seconds, :<, 0.8
  end
end
TestBatchStreamsInReactor = InReactor.test_case(StreamTests)
TestFutureInReactor = InReactor.test_case(FutureTests)
