# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"

# A call that never has to wait, since its server reads or sends as fast as it can, must not delay other calls of its
# batch.
class TestFairness < TrunklineTest
  # The server reads a body of single letters faster than the client produces it.
  LETTER = -> { "x" }
  PIECE = "x" * 65_536

  def test_an_upload_without_end_beside_another_call
    assert_the_other_gets_its_response [:post, "/endless", { body: LETTER }]
  end

  def test_an_upload_with_progress_beside_another_call
    assert_the_other_gets_its_response [:post, "/endless", { body: LETTER, progress: ->(_) {} }]
  end

  def test_a_download_without_end_beside_another_call
    quick = during = nil
    client(serve_both.url, timeout: 5).batch do |batch|
      begun = nil
      batch.get("/endless", on_chunk: lambda do |_, response|
        begun ||= batch.get("/quick") { |response| quick = response.body }
        (during = quick) ? response.close : sleep(0.005)
      end)
    end
    assert_equal "right", during
  end

  def test_a_future_is_cancelled_while_it_sends
    http = client(serve_both.url)
    began = Queue.new
    future = http.async.post("/endless", body: -> { LETTER.call.tap { began << true if began.empty? } })
    began.pop
    sleep 0.05
    seconds, = timed { future.tap(&:cancel).value }
    assert_operator seconds, :<, 1
    assert_instance_of Trunkline::Cancelled, future.value
    eventually { http.stats[:in_use].zero? }
  end

  def test_other_fibers_beside_an_upload_without_end
    http = client(serve_both.url, timeout: 5)
    ways = [-> { http.map([[:post, "/endless", { body: LETTER }]]) }, -> { http.post("/endless", body: LETTER) }]
    ways.each do |upload|
      seconds, = timed do
        Sync do |task|
          call = task.async { upload.call }
          5.times { sleep 0.01 }
          call.stop
        end
      end
      assert_operator seconds, :<, 2
    end
    eventually { http.stats[:in_use].zero? }
  end

  private

  def assert_the_other_gets_its_response(endless)
    url, response = client(serve_both.url, timeout: 5).each([endless, "/quick"]).first
    assert_equal ["/quick", "right"], [url, response.body]
  end

  def serve_both
    serve do |connection|
      while (head = connection.read_head_only)
        next connection << response_bytes("right") if head.target == "/quick"
        next connection.stall if head.verb == "POST"

        connection << "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n"
        loop { connection << PIECE }
      end
    rescue SystemCallError, IOError
      connection.left!
    end
  end
end
