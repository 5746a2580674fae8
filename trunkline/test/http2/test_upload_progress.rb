# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Progress callbacks of a body on a connection that other calls share.
class TestHTTP2UploadProgress < HTTP2Test
  def test_whoever_tells_of_progress_does_not_keep_others_waiting
    server = serve_frames(grants: :read) { |stream| stream.answer(stream.body.bytesize.to_s) }
    http = h2_client(server.url)
    http.get("/")
    told = Queue.new
    others_done = Queue.new
    slow = ->(progress) { (told << progress.bytes) && progress.bytes.positive? && others_done.pop }
    upload = Thread.new { http.post("/", body: "x" * 4_000_000, progress: slow) }
    2.times { told.pop }
    assert_equal %w[0 0 0], in_threads(3) { http.get("/").body }
    others_done.close
    assert_equal "4000000", upload.value.body
    assert_equal 1, server.connection_count
  end
end
