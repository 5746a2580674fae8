# frozen_string_literal: true

require_relative "test_helper"
require "stringio"
require "tempfile"
require "rack"

# All kinds of request bodies, and their framing.
class TestRequestBodies < TrunklineTest
  stressable

  # An IO of unknown size, which can only be read.
  class Source
    def initialize(text) = @io = StringIO.new(text)
    def read(...) = @io.read(...)
  end

  def setup
    super
    @server = serve
    @http = client(@server.url)
  end

  def test_a_string_has_its_bytes_counted
    @http.post("/", body: "grün")
    assert_equal "5", request["Content-Length"]
    assert_equal "grün".b, request.body.b
    assert_nil request["Transfer-Encoding"]
  end

  def test_a_file_of_which_nothing_is_left
    Tempfile.create("body") do |file|
      @http.post("/", body: file) # an empty file
      file.write("text")
      ways = [{ body: file }, { multipart: { file: file } }, { multipart: { file: Trunkline::Part.new(file) } },
              { multipart: { file: { io: file, filename: "a" } } }]
      ways.each do |content|
        error = assert_raises(Trunkline::InvalidRequest) { @http.post("/", content) }
        assert_match(/\A#{content.keys.first}: .*its end: rewind it/, error.message)
        assert_raises(Trunkline::InvalidRequest) { @http.map([[:post, "/", content]]) }
      end
      file.pos = 2
      @http.post("/", body: file)
      file.rewind
      @http.post("/", body: file)
      @http.post("/", body: Pathname.new(file.path))
    end
    assert_equal ["", "xt", "text", "text"], @server.requests.map(&:body)
  end

  def test_an_empty_string
    @http.put("/", body: "")
    assert_equal "0", request["Content-Length"]
  end

  def test_a_binary_string_arrives_unchanged
    bytes = Array(0..255).pack("C*") * 1000
    @http.post("/", body: bytes)
    assert_equal bytes, request.body
  end

  def test_a_file_is_sent_with_its_size
    with_file("file " * 50_000) do |file|
      @http.post("/", body: file)
      assert_equal "250000", request["Content-Length"]
      assert_equal 250_000, request.body.bytesize
    end
  end

  def test_an_io_is_sent_from_where_it_stands
    io = StringIO.new("skipped sent")
    io.seek(8)
    @http.post("/", body: io)
    assert_equal "sent", request.body
    assert_equal "4", request["Content-Length"]
  end

  def test_an_io_of_unknown_size_is_chunked
    @http.post("/", body: Source.new("abc" * 30_000))
    assert_equal "chunked", request["Transfer-Encoding"]
    assert_nil request["Content-Length"]
    assert_equal "abc" * 30_000, request.body
  end

  def test_a_pipe_is_chunked
    reader, writer = IO.pipe
    feeder = Thread.new { 3.times { |number| writer.write("part #{number};") && sleep(0.02) } && writer.close }
    @http.post("/", body: reader)
    assert_equal "part 0;part 1;part 2;", request.body
    assert_equal "chunked", request["Transfer-Encoding"]
  ensure
    feeder.join
    reader.close
  end

  def test_available_data_of_a_pipe_is_sent_at_once
    reader, writer = IO.pipe
    server = serve do |connection|
      connection.read_head_only
      first = Array.new(2) { connection.read_line }
      writer.write("last") && writer.close
      connection << response_bytes([*first, *Array.new(4) { connection.read_line }].join(" "))
    end
    writer.write("first")
    assert_equal "5 first 4 last 0 ", client(server.url).post("/", body: reader).body
  ensure
    reader.close
  end

  def test_an_array_of_strings_has_its_bytes_counted
    @http.post("/", body: %w[one two three])
    assert_equal "onetwothree", request.body
    assert_equal "11", request["Content-Length"]
  end

  def test_any_other_enumerable_is_chunked
    @http.post("/", body: %w[one two three].each)
    assert_equal "onetwothree", request.body
    assert_equal "chunked", request["Transfer-Encoding"]
  end

  def test_an_empty_chunk_does_not_end_the_body
    @http.post("/", body: ["one", "", "two"].each)
    assert_equal "onetwo", request.body
  end

  def test_a_lazy_enumerator_is_pulled_as_it_is_sent
    made = []
    lazy = Enumerator.new { |out| 5.times { |number| made.push(number) && out << number.to_s * 10 } }
    @http.post("/", body: lazy)
    assert_equal 5, made.size
    assert_equal 50, request.body.bytesize
  end

  def test_a_callable_returns_chunks_until_nil
    pieces = %w[first second]
    @http.post("/", body: -> { pieces.shift })
    assert_equal "firstsecond", request.body
  end

  def test_a_declared_length_is_kept
    @http.post("/", body: %w[12345 67890].each, headers: { "Content-Length" => "10" })
    assert_equal "10", request["Content-Length"]
    assert_nil request["Transfer-Encoding"]
    assert_equal "1234567890", request.body
  end

  def test_too_few_bytes_for_the_declared_length
    error = assert_raises(Trunkline::BodyError) do
      @http.post("/", body: %w[123].each, headers: { "Content-Length" => "10" })
    end
    assert_facts error, phase: :write, attempt: 1
    assert_match(/10/, error.message)
    assert_match(/3/, error.message)
    assert_equal :eof, @server.ended, "a request cut short ends its connection"
  end

  def test_too_many_bytes_for_the_declared_length
    assert_raises(Trunkline::BodyError) do
      @http.post("/", body: %w[12345 67890].each, headers: { "Content-Length" => "7" })
    end
    assert_equal :eof, @server.ended
    assert_empty(@server.requests.select { |seen| seen.body.bytesize > 7 })
  end

  def test_a_body_that_raises_gives_its_own_error
    broken = Enumerator.new { |out| (out << "some") && raise(IOError, "the disk is gone") }
    error = assert_raises(IOError) { @http.post("/", body: broken) }
    assert_equal "the disk is gone", error.message
    assert_equal "ok", @http.get("/").body, "the next call gets its own response"
    assert_equal %w[GET], @server.requests.map(&:verb), "a request that was cut passed for a whole one"
  end

  def test_a_body_that_gives_something_else_than_strings
    assert_raises(Trunkline::BodyError, Trunkline::InvalidRequest, TypeError) { @http.post("/", body: [1, 2]) }
    assert_equal "ok", @http.get("/").body
  end

  def test_a_big_body_is_streamed_in_flat_memory
    skip "under stress nothing old is collected, so no memory is flat" if self.class.stressed?
    skip "valgrind keeps what was freed, so no memory is flat" if VALGRIND
    server = serve_counting
    piece = "x" * 65_536
    body = Enumerator.new { |out| 16_000.times { out << piece } }
    Memory.reset_peak
    before = Memory.resident_bytes
    response = client.post(server.url, body: body, timeout: RUBY_ENGINE == "jruby" ? 120 : 20)
    assert_equal (16_000 * 65_536).to_s, response.body
    # The server reads in this process, too: its Strings and the client's wait for the garbage collector.
    assert_operator Memory.peak_bytes - before, :<, 150 * Nginx::MEBIBYTE
  end

  def test_json_sets_body_and_content_type
    @http.post("/", json: { "name" => "grün", "list" => [1, nil] })
    assert_equal({ "name" => "grün", "list" => [1, nil] }, JSON.parse(request.body))
    assert_match(%r{\Aapplication/json}, request["Content-Type"])
  end

  def test_json_keeps_the_callers_content_type
    @http.post("/", json: {}, headers: { "Content-Type" => "application/vnd.api+json" })
    assert_equal "application/vnd.api+json", request["Content-Type"]
  end

  def test_json_of_false_and_null
    @http.post("/", json: false)
    assert_equal "false", request.body
  end

  def test_form_is_url_encoded
    @http.post("/", form: { "a b" => "c&d=e", list: %w[1 2], umlaut: "ü" })
    assert_equal "application/x-www-form-urlencoded", request["Content-Type"][/\A[^;]+/]
    pairs = URI.decode_www_form(request.body)
    assert_includes pairs, ["a b", "c&d=e"]
    assert_includes pairs, %w[umlaut ü]
    assert_equal 2, pairs.count { |name, _| name.start_with?("list") }
  end

  def test_two_bodies_at_once_are_refused
    error = assert_raises(ArgumentError) { @http.post("/", body: "x", json: {}) }
    assert_match(/body.*json|json.*body/, error.message)
    assert_empty @server.requests
  end

  def test_a_rewindable_body_is_rewound_for_the_next_hop
    server = serve { |connection| redirect_once(connection) }
    io = StringIO.new("again")
    assert_equal "again", client(server.url, follow: 3).post("/from", body: io).body
    assert_equal %w[again again], server.requests.map(&:body)
  end

  def test_a_body_that_cannot_be_rewound_is_not_sent_again
    server = serve { |connection| redirect_once(connection) }
    reader, writer = IO.pipe
    writer.write("once")
    writer.close
    assert_raises(Trunkline::Error) { client(server.url, follow: 3).post("/from", body: reader) }
    assert_equal 1, server.requests.size
  ensure
    reader.close
  end

  private

  def request = @server.requests.last

  def with_file(content)
    Tempfile.create("body") do |file|
      file.write(content)
      file.rewind
      yield file
    end
  end

  def redirect_once(connection)
    connection.read_request
    connection << redirect("/to", status: "307 Temporary Redirect")
    seen = connection.read_request
    connection << response_bytes(seen.body) if seen
  end

  # Counts the bytes of a chunked body without keeping them.
  def serve_counting
    serve do |connection|
      connection.read_head_only
      total = 0
      until (size = connection.read_line.to_i(16)).zero?
        connection.read_exactly(size + 2)
        total += size
      end
      connection.read_exactly(2)
      connection << response_bytes(total.to_s)
    end
  end
end
