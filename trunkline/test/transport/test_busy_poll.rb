# frozen_string_literal: true

require_relative "../test_helper"

# Calls with busy_poll: end as other calls do. When a call polls is tested in
# c/transport/exchange/test_exchange_drive.c.
class TestBusyPoll < TrunklineTest
  def test_responses_are_the_same_with_and_without_busy_poll
    server = serve
    [true, 0.001, false].each do |value|
      http = client(server.url, busy_poll: value)
      assert_equal ["ok"] * 20, Array.new(20) { http.get("/").body }, "busy_poll: #{value}"
    end
  end

  def test_a_call_that_has_polled_in_vain_ends_in_time
    server = serve do |connection|
      connection << response_bytes while (request = connection.read_request) && request.target != "/silent"
      connection.stall
    end
    http = client(server.url, busy_poll: 0.001)
    5.times { http.get("/") }
    error = assert_raises_with(Trunkline::FirstByteTimeout, phase: :first_byte, sent: :all) do
      http.get("/silent", timeout: { first_byte: 0.2 })
    end
    assert_took 0.2, error.elapsed
  end
end
