# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Progress callbacks of a body on a connection that other calls share.
class TestHTTP2UploadProgress < HTTP2Test
  def test_a_slow_progress_callback_does_not_delay_other_calls
    server = serve_frames(grants: :read) { |stream| stream.answer(stream.body.bytesize.to_s) }
    http = h2_client(server.url)
    http.get("/")
    reported = Queue.new
    others_done = Queue.new
    slow = ->(progress) { (reported << progress.bytes) && progress.bytes.positive? && others_done.pop }
    upload = Thread.new { http.post("/", body: "x" * 4_000_000, progress: slow) }
    2.times { reported.pop }
    assert_equal %w[0 0 0], in_threads(3) { http.get("/").body }
    others_done.close
    assert_equal "4000000", upload.value.body
    assert_equal 1, server.connection_count
  end
end
