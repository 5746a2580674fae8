# frozen_string_literal: true

require_relative "../support/fibers"
require "tmpdir"
require_relative "../support/http2/http2_test"

# Client#download over HTTP/2, where other calls share the connection; and in fibers, while other fibers continue.
class TestDownloadOverHTTP2 < HTTP2Test
  BYTES = Random.new(1).bytes(600_000).freeze

  def test_the_file_and_calls_beside_it
    server = serve_frames(tls: true) { |stream| stream.answer(stream.target == "/file" ? BYTES : "small") }
    http = h2_client(server.url(host: "localhost"))
    Dir.mktmpdir do |folder|
      files = in_threads(4) { |number| http.download("/file", to: "#{folder}/#{number}").path }
      files.each { |file| assert_equal BYTES, File.binread(file) }
      assert_equal "small", http.get("/").body
    end
  end

  def test_fibers
    server = serve_frames { |stream| stream.answer(BYTES) }
    http = h2_client(server.url)
    Dir.mktmpdir do |folder|
      paths = Array.new(3) { |number| "#{folder}/#{number}" }
      Sync { |task| paths.map { |path| task.async { http.download("/file", to: path) } }.each(&:wait) }
      paths.each { |path| assert_equal BYTES, File.binread(path) }
    end
  end
end
