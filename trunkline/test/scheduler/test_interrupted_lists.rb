# frozen_string_literal: true

require_relative "../test_helper"

# When a list is interrupted between any two steps, each of its requests has been yielded, or is passed to on_cancel:.
class TestInterruptedLists < TrunklineTest
  Interruption = Class.new(Interrupt)
  ROOT = File.expand_path("../../lib/trunkline", __dir__)
  FILES = %r{\A#{ROOT}/(?:scheduler|scheduler/(?:each|origins|origin_queue))\.rb\z}
  STEPS = %i[line call return b_call b_return c_call c_return].freeze
  URLS = Array.new(12) { |index| "/#{index}" }.freeze
  # Every 11th step only: all steps would take a minute.
  STRIDE = 11

  # Interrupts from the start of sending until the remaining requests are reported. One request may just have been
  # passed to the block, which had not recorded it yet.
  def test_each_lists_all_requests_not_yielded
    http = client(serve.url)
    step = rand(STRIDE)
    while (yielded, cancelled = interrupted_at(step += STRIDE, http))
      missing = URLS - yielded - cancelled
      assert_operator missing.size, :<=, 1, "step #{step}: #{missing}"
      assert_empty cancelled & yielded, "step #{step}"
      assert_equal cancelled.uniq, cancelled, "step #{step}"
    end
    assert_operator step, :>, 200
  end

  private

  # @return [Array(Array, Array), nil] the yielded and the cancelled requests; nil when there are fewer steps
  def interrupted_at(step, http)
    yielded = []
    cancelled = []
    trace = tracing(step)
    trace.enable
    http.each(URLS, concurrency: 6, on_cancel: ->(url) { cancelled << url }) { |url, _| yielded << url }
    nil
  rescue Interruption
    [yielded, cancelled]
  ensure
    trace.disable
  end

  def tracing(step)
    tested = Thread.current
    count = 0
    sending = false
    TracePoint.new(*STEPS) do |event|
      next unless Thread.current.equal?(tested) && FILES.match?(event.path)

      sending ||= event.method_id == :drive
      sending = false if event.method_id == :unfinished
      raise Interruption if sending && (count += 1) == step
    end
  end
end
