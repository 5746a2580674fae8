# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/http2/over_http2"
require_relative "../support/in_reactor"
require_relative "../support/call_styles"
require "pathname"
require "stringio"
require "tempfile"
require "trunkline/policy/retry" # loaded here, since Async 2.24 cannot load a file in a fiber on Ruby 3.1

# The progress: callbacks of a call while its body is sent.
module UploadProgressTests
  LINES = "a line of the file\n" * 50_000

  def setup
    super
    @reported = []
  end

  def progress = ->(progress) { @reported << progress }

  # @return [Array<Array<Integer>>] the byte counts of each attempt
  def attempts = @reported.map(&:bytes).slice_when { |_, bytes| bytes.zero? }.to_a

  def assert_reported(bytes, total: bytes, attempts: 1)
    reported = self.attempts
    assert_equal attempts, reported.size, "attempts: #{reported}"
    assert_equal [bytes] * attempts, reported.map(&:last)
    assert_equal reported.map(&:sort), reported
    assert_equal [total], @reported.map(&:total).uniq
    assert(@reported.all?(&:frozen?))
  end

  def with_file(text = LINES)
    Tempfile.create("upload") do |file|
      file.write(text)
      file.rewind
      yield file
    end
  end

  KNOWN = {
    small_string: ->(_) { { body: "small" } }, large_string: ->(_) { { body: LINES * 10 } },
    file: ->(file) { { body: file } },
    pathname: ->(file) { { body: Pathname.new(file.path) } }, string_io: ->(_) { { body: StringIO.new(LINES) } },
    array: ->(_) { { body: ["a" * 70_000, "b" * 10] } }, json: ->(_) { { json: { text: LINES } } },
    form: ->(_) { { form: { text: LINES } } }, multipart: ->(file) { { multipart: { name: "x", file: file } } }
  }.freeze

  KNOWN.each do |name, options|
    define_method(:"test_progress_of_#{name}_has_a_total") do
      server = serve
      with_file { |file| client(server.url).post("/", **options.call(file), progress: progress) }
      assert_reported server.requests.first.body.bytesize
      assert_equal 0.0, @reported.last.eta
    end
  end

  def test_an_empty_body
    client(serve.url).post("/", body: "", progress: progress)
    assert_equal([[0, 0], [0, 0]], @reported.map { |progress| [progress.bytes, progress.total] })
  end

  UNKNOWN = {
    enumerable: -> { { body: ["x" * 100_000, "y" * 10].each } },
    callable: -> { pieces = ["x" * 100_000, "y" * 10] and { body: -> { pieces.shift } } },
    pipe: -> { IO.pipe.then { |reader, writer| writer.write("x" * 10_000) and writer.close or { body: reader } } },
    lazy: -> { { body: (1..2000).lazy.map { |number| "line #{number}\n" } } }
  }.freeze

  UNKNOWN.each do |name, options|
    define_method(:"test_progress_of_#{name}_has_no_total") do
      server = serve
      client(server.url).post("/", **(given = options.call), progress: progress)
      assert_reported server.requests.first.body.bytesize, total: nil
      assert_nil @reported.last.eta
    ensure
      given[:body].close if given && given[:body].is_a?(IO)
    end
  end

  def test_progress_restarts_at_0_after_a_redirect_with_the_body
    moved = redirect("/there", status: "307 Temporary Redirect")
    server = serve(script: [[:read, moved, :read, response_bytes("done"), :stall]])
    body = StringIO.new(LINES)
    assert_equal "done", client(server.url, follow: 1).put("/", body: body, progress: progress).body
    assert_reported LINES.bytesize, attempts: 2
  end

  def test_no_progress_is_reported_after_a_redirect_that_drops_the_body
    moved = redirect("/there", status: "303 See Other")
    server = serve(script: [[:read, moved, :read, response_bytes("done"), :stall]])
    assert_equal "done", client(server.url, follow: 1).post("/", body: LINES, progress: progress).body
    assert_reported LINES.bytesize
  end

  def test_a_retry_begins_at_0_again
    server = serve(script: [[:read, response_bytes("", status: "503 Busy"), :read, response_bytes("done"), :stall]])
    http = client(server.url, retry: { backoff: 0..0 })
    assert_equal "done", http.put("/", body: StringIO.new(LINES), progress: progress).body
    assert_reported LINES.bytesize, attempts: 2
  end

  # Bytes of a body that the buffers of a connection cannot hold.
  UNTAKEN = 40 * Nginx::MEBIBYTE

  def test_bytes_not_taken_by_the_socket_do_not_count
    goes_on = Queue.new
    server = serve do |connection|
      connection.read_head_only
      goes_on.pop
      connection << response_bytes(connection.read_exactly(UNTAKEN).bytesize.to_s)
      connection.stall
    end
    http = client(server.url, timeout: 20)
    call = Thread.new { http.put("/", body: "x" * UNTAKEN, progress: progress) }
    before = nil
    sleep 0.3 until @reported.any? && before == (before = @reported.size)
    assert_operator @reported.last.bytes, :<, UNTAKEN
    goes_on << true
    assert_equal UNTAKEN.to_s, call.value.body
    assert_reported UNTAKEN
  end

  def test_progress_is_called_a_few_times_a_second
    server = serve
    left = 120
    slow = -> { sleep(0.005) && "x" * 1000 if (left -= 1) >= 0 }
    seconds, = timed { client(server.url).post("/", body: slow, progress: progress) }
    assert_reported 120_000, total: nil
    assert_includes 4..((seconds / 0.1) + 3), @reported.size
  end

  def test_an_error_of_progress_ends_the_call
    server = serve
    http = client(server.url)
    assert_raises(KeyError) { http.post("/", body: LINES, progress: ->(_) { raise KeyError }) }
    at_the_end = ->(progress) { raise KeyError if progress.bytes == LINES.bytesize }
    assert_raises(KeyError) { http.post("/", body: LINES, progress: at_the_end) }
    assert_equal "ok", http.post("/", body: LINES).body
    assert_equal 0, http.stats[:in_use]
  end

  def test_a_refusal_ends_with_what_was_sent
    refusal = response_bytes("no", status: "413 Content Too Large", "Connection" => "close")
    server = serve(script: [[:read_head_only, refusal,
                             :stall]])
    body = "x" * (64 * Nginx::MEBIBYTE)
    assert_equal 413, client(server.url).post("/", body: body, progress: progress).status
    assert_operator @reported.last.bytes, :<, body.bytesize
  end
end

class TestUploadProgress < TrunklineTest # rubocop:disable Style/OneClassPerFile -- the module is for three classes
  include UploadProgressTests
  include CallStyles

  def test_progress_of_each_call_style
    server = serve
    http = client(server.url)
    each_call_style do |style, call|
      @reported.clear
      assert_equal "ok", call.call(http, :post, "/", body: LINES, progress: progress).body, style
      assert_reported LINES.bytesize
    end
  end

  def test_among_many_an_error_of_progress_is_the_result_of_its_call_alone
    server = serve
    results = client(server.url).batch do |batch|
      batch.post("/", body: LINES, progress: ->(_) { raise KeyError, "mine" })
      batch.post("/", body: LINES, progress: progress)
    end
    assert_instance_of KeyError, results[0]
    assert_equal "ok", results[1].body
    assert_reported LINES.bytesize
  end

  def test_invalid_values_of_progress_are_refused
    http = client("http://127.0.0.1:#{refused_port}")
    error = assert_raises(Trunkline::InvalidRequest) { http.get("/", progress: progress) }
    assert_equal "progress: tells how much of a body is sent, and this call has no body", error.message
    error = assert_raises(Trunkline::InvalidRequest) { http.post("/", body: "x", progress: 5) }
    assert_equal "progress: must be true, false, or callable, got 5", error.message
    error = assert_raises(Trunkline::InvalidRequest) { http.async.post("/", body: "x", progress: true) }
    assert_includes error.message, "progress: true draws the bar of one call"
    error = assert_raises(Trunkline::InvalidRequest) { client("http://a.test", progress: progress) }
    assert_includes error.message, "progress"
  end

  def test_a_retry_after_a_part_begins_at_0_again
    server = serve(script: [[:read_head_only, 0.1, :reset], [:read, response_bytes("done"), :stall]])
    http = client(server.url, timeout: 20, retry: { backoff: 0..0 })
    body = StringIO.new("x" * (32 * Nginx::MEBIBYTE))
    assert_equal "done", http.put("/", body: body, progress: progress).body
    assert_equal [[0, true], [0, false]], attempts.map { |reported| [reported.first, reported.last < body.size] }
    assert_equal body.size, @reported.last.bytes
  end

  def test_over_tls
    server = serve_tls
    assert_equal "ok", secure_client(server.url).put("/", body: LINES * 10, progress: progress).body
    assert_reported LINES.bytesize * 10
  end
end

TestUploadProgressInFibers = InReactor.test_case(UploadProgressTests) do
  # Async 2.24 calls IO#timeout when an IO is read in a fiber, which Ruby has since 3.2.
  unless IO.method_defined?(:timeout)
    public_instance_methods.grep(/\Atest_.*_(?:file|pathname|pipe|multipart)_/).each { |name| undef_method(name) }
  end
end
TestUploadProgressOverHTTP2 = OverHTTP2.test_case(UploadProgressTests)
