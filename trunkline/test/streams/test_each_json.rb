# frozen_string_literal: true

require_relative "../test_helper"
require "bigdecimal"
require "trunkline/stubs"
require "zlib"

# Parsing JSON as it arrives: the values, their order and time, and the errors of a malformed body.
class TestEachJSON < TrunklineTest
  # A response whose body arrives in these pieces.
  def response(*pieces, type: "application/json", **options)
    client(serve(chunked_response(*pieces, "Content-Type" => type)).url, **options).get("/", stream: true)
  end

  def values(body, *path, type: "application/json", **options)
    response(body, type: type).each_json(*path, **options).to_a
  end

  # @return [Array] the values before the error, and the error
  def failed(body, *path, error: Trunkline::DecodeError, type: "application/json", **options)
    before = []
    [before, assert_raises_with(error, sent: :all, phase: :read) do
      response(body, type: type).each_json(*path, **options) { |value| before << value }
    end]
  end

  # ---- forms ----

  LINES = "{\"a\":1}\r\n\n[2]\n\"ü\"\n3"

  def test_json_lines
    ["application/x-ndjson", "application/jsonl", "application/jsonlines", "application/x-jsonlines", "text/x-ndjson",
     "application/stream+json", "Application/X-NDJSON; charset=utf-8"].each do |type|
      assert_equal [{ "a" => 1 }, [2], "ü", 3], values(LINES, type: type), type
    end
    assert_equal [[1], [2]], values("[1]\n[2]\n", type: "application/jsonl")
  end

  def test_a_line_must_hold_one_complete_value
    ["[1,\n2]\n", "{} {}\n", "1 2"].each do |body|
      assert_match(/line/, failed(body, type: "application/x-ndjson").last.message)
    end
  end

  def test_a_json_text_sequence
    %w[application/json-seq application/geo+json-seq].each do |type|
      assert_equal [{ "a" => 1 }, [1, 2], 3], values("\x1E{\"a\":1}\n\x1E[1,\n2]\n\x1E\x1E3\n", type: type)
    end
  end

  def test_a_record_that_was_cut_short
    { "\x1E1\n\x1E12" => [1], "\x1E{}\n\x1E[1\x1E{}\n" => [{}], "\x1Etrue\x1Etrue\n" => [], "\x1E{" => [] }
      .each do |body, before|
      seen, error = failed(body, type: "application/json-seq")
      assert_equal before, seen
      assert_match(/the record is cut short at byte \d+, line \d, at #{before.size};/, error.message)
    end
  end

  def test_an_array
    ["application/json", "text/plain", "application/problem+json", "application/octet-stream"].each do |type|
      assert_equal [1, nil, [2], { "a" => [] }], values(" [1, null,\n[2],{\"a\":[]}] \n", type: type), type
    end
    assert_empty values("[]")
  end

  def test_the_format_is_detected_from_the_first_byte
    assert_equal [{ "a" => [1] }], values("{\n  \"a\": [1]\n}\n")
    assert_equal [{ "a" => 1 }, 2], values("{\"a\":1}\n2", type: "text/plain")
    assert_equal [1, 2], values("\x1E1\n\x1E2\n", type: "text/plain")
    assert_equal [1], values("\u{FEFF}[1]")
    assert_equal [[1]], values("\u{FEFF}[1]", type: "application/x-ndjson")
  end

  def test_nothing
    assert_empty values("")
    assert_empty values("", "items.*")
    assert_empty values("\n \n", type: "application/x-ndjson")
    server = serve("HTTP/1.1 204 X\r\n\r\n")
    assert_empty client(server.url).get("/", stream: true).each_json.to_a
    assert_empty client(serve(response_bytes("[1]")).url).head("/").each_json.to_a
  end

  # ---- paths ----

  DOCUMENT = '{"meta":{"items":[9],"next":"]}"},"items":[{"id":1,"tags":["a","b"]},{"id":2,"tags":[]},7],' \
             '"a.b":{"x":1,"y":[2]},"\u0069d":"last"}'

  def test_paths
    {
      "items.*" => [{ "id" => 1, "tags" => %w[a b] }, { "id" => 2, "tags" => [] }, 7], "items.*.id" => [1, 2],
      "items.*.tags.*" => %w[a b], "items.1.id" => [2], "meta.next" => ["]}"], "items.9" => [], "nothing.*" => [],
      "id" => ["last"], "a.b" => [], "meta.*.0" => [9], "" => [JSON.parse(DOCUMENT)], "id.*" => [],
      %w[a.b *] => [1, [2]], ["items", 0, :id] => [1], [] => [JSON.parse(DOCUMENT)], "*.x" => [1]
    }.each { |path, expected| assert_equal expected, values(DOCUMENT, path), path.inspect }
  end

  def test_a_path_overrules_the_type
    assert_equal [1, 2], values("{\"a\":[1,\n2]}", "a.*", type: "application/x-ndjson")
  end

  def test_a_name_that_comes_twice
    assert_equal [1, 2], values('{"a":[1],"a":[2]}', "a.*")
  end

  # ---- JSON.parse's options ----

  def test_options
    assert_equal [{ a: { b: 1 } }], values('[{"a":{"b":1}}]', symbolize_names: true)
    assert_equal [["x"]], values('[["x"]]', freeze: true).each { |value| assert_predicate value.first, :frozen? }
    assert_equal [1, Float::INFINITY], values("[1,Infinity]", allow_nan: true)
    assert_kind_of BigDecimal, values("[1.5]", decimal_class: BigDecimal).first
    list = Class.new(Array)
    assert_equal [list, list], values("[[1],[2]]", array_class: list).map(&:class)
    assert_equal [2**70, 1e-7, -0.0, Float::INFINITY], values("[#{2**70},1e-7,-0.0,1e400]")
  end

  def test_nesting
    deep = "[#{"[" * 99}#{"]" * 99}]"
    assert_equal [JSON.parse(deep).first], values(deep)
    assert_kind_of JSON::NestingError, failed("[#{deep}]").last.cause
    assert_kind_of JSON::NestingError, failed("{\"skipped\":[#{deep}]}", "x").last.cause
    assert_equal [JSON.parse(deep)], values("[#{deep}]", max_nesting: 101)
    [0, nil, false].each { |any| assert_equal 1, values("[#{"[" * 500}#{"]" * 500}]", max_nesting: any).size }
    assert_match(/nesting of 3 is too deep at byte 5, line 1, at 1;/, failed("[1,[[]]]", max_nesting: 2).last.message)
  end

  def test_a_custom_decoder
    decoder = ->(text, **options) { text == "2" ? raise("what came: #{text}") : [text, options] }
    read = ->(body, **options) { response(body, json_decoder: decoder).each_json(**options).to_a }
    assert_equal [["{\"a\" :1}", {}], ["null", {}]], read.call("[{\"a\" :1},null]")
    assert_equal [["1", { mode: :strict }]], read.call("[1]", mode: :strict)
    error = assert_raises(Trunkline::DecodeError) { read.call("[1, 2]") }
    assert_match(/json_decoder: raised RuntimeError in the value at byte 5, line 1, at 1;/, error.message)
    assert_match(/what came/, error.cause.message)
  end

  def test_a_charset
    server = serve(chunked_response("[\"\xFC\"".b, ",\"\xE4\"]".b, "Content-Type" => "text/json; charset=iso-8859-1"))
    assert_equal %w[ü ä], client(server.url).get("/", stream: true).each_json.to_a
    wide = "[\"日本\"]".encode("UTF-16LE")
    pieces = wide.b.scan(/.{1,3}/mn)
    assert_equal ["日本"], response(*pieces, type: "application/json; charset=utf-16le").each_json.to_a
    error = assert_raises(Trunkline::DecodeError) do
      response("[\"\xFF\"]".b, type: "application/json; charset=shift_jis").each_json.to_a
    end
    assert_match(/bytes that are not valid Shift_JIS/, error.message)
  end

  # ---- errors ----

  def test_the_position_of_a_syntax_error_is_reported
    before, error = failed("{\"items\":[\n1,\n{\"a\":[1,SECRET]}]}", "items.*")
    assert_equal [1], before
    assert_includes error.message, "expected a value at byte 23, line 3, at items.1; the server has the whole request"
    assert_equal "application/json", error.response.content_type
    assert_kind_of JSON::ParserError, error.cause
  end

  def test_places
    {
      ["{\"a\":{\"b\":[1,{\"c\":x}]}}", "a.b.*.c"] => "byte 19, line 1, at a.b.1.c",
      ["{\"SECRET\":[1,x]}", "*.*"] => "byte 14, line 1, at *.1",
      ["{\"SECRET\":[1,x]}", "a.*"] => "byte 14, line 1;", ["[1,2]\n!", nil] => "nothing more at byte 7, line 2;",
      ["[1,2", nil] => "cut short at byte 4, line 1, at 1"
    }.each { |(body, path), place| assert_includes failed(body, *path).last.message, place }
    assert_includes failed("{}\n{}\nno", type: "application/jsonl").last.message, "at byte 8, line 3, at 2"
  end

  # The messages of CRuby's and Java's parsers about half of a surrogate pair.
  WORDS_OF_JSON = /surrogate pair|partial character in source/

  # A value that only JSON.parse refuses is located among the values that were parsed together.
  def test_the_position_of_a_value_refused_by_json_is_reported
    before, error = failed("[{\"a\":1},\n[\"ok\"], {\"a\":\"\\ud800\"},3]")
    assert_equal [{ "a" => 1 }, ["ok"]], before
    assert_match(/#{WORDS_OF_JSON} in the value at byte 19, line 2, at 2;/, error.message)
    assert_kind_of JSON::ParserError, error.cause
  end

  NO_JSON = ["SECRET", "{SECRET", "[1,SECRET", "[\"SECRET", "[\"\x01SECRET\"", "[-SECRET]", "[1]SECRET", "{\"SECRET",
             "[\"\\uSECRET\"]", "{\"SECRET\":1,\"SECRET\":tru}", "[\"SECRET\\ud800\"]", "<SECRET>"].freeze

  def test_bodies_are_not_in_messages
    NO_JSON.each do |body|
      _, error = failed(body)
      assert_match(/ at byte \d+, line 1/, error.message)
      assert_kind_of JSON::ParserError, error.cause, body
      refute_match(/SECR/, error.full_message(highlight: false), body)
    end
  end

  def test_limit
    assert_equal ["x" * 8, 1], values("[\"#{"x" * 8}\",1]", limit: 10)
    before, error = failed("[1,\"#{"x" * 9}\"]", error: Trunkline::BodyTooLarge, limit: 10)
    assert_equal [1], before
    assert_match(/larger than allowed \(limit: 10\), at byte 4, line 1, at 1;/, error.message)
    assert_equal ["y"], values("[\"#{"x" * 99}\",\"y\"]", "1", limit: 3)
    [0, -1, "1", 1.5].each { |limit| assert_raises(Trunkline::InvalidRequest) { values("[]", limit: limit) } }
    assert_equal 20_000_000, values("[\"#{"x" * 20_000_000}\"]", limit: nil).first.size
    assert_raises(Trunkline::BodyTooLarge) { values("[\"#{"x" * 20_000_000}\"]") }
  end

  HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n"

  def test_a_body_that_breaks_off
    server = serve(script: [[:read, "#{HEAD}[1,[2],3,4", :close]])
    before = []
    assert_raises(Trunkline::TruncatedBody) do
      client(server.url).get("/", stream: true).each_json { |value| before << value }
    end
    assert_equal [1, [2], 3], before
  end

  # ---- when, and how it ends ----

  def test_a_value_is_yielded_as_soon_as_it_is_complete
    seen = Queue.new
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      ["[{\"a\":1}", ",\"b\"", ",3,", "[4]"].each do |piece|
        connection << chunk(piece)
        seen.pop
      end
      connection << chunk("]") << "0\r\n\r\n"
    end
    values = []
    client(server.url).get("/", stream: true).each_json { |value| seen << values.push(value) }
    assert_equal [{ "a" => 1 }, "b", 3, [4]], values
  end

  def test_the_connection_is_used_again_after_the_end
    http = client(serve(chunked_response("[1", ",2]")).url)
    first = http.get("/", stream: true)
    assert_same first, first.each_json { |value| value }
    assert_same_connection first, http.get("/")
  end

  def test_leaving_closes_the_connection
    [->(response) { response.each_json { |value| break if value } }, ->(response) { response.each_json.first },
     ->(response) { response.each_json { |value| throw :left if value } },
     ->(response) { response.each_json { |value| raise KeyError, "left" if value } }].each do |leave|
      http, response = endless_array
      catch(:left) { leave.call(response) }
    rescue KeyError => error
      assert_equal "left", error.message
    ensure
      assert_closed(http)
    end
  end

  def test_leaving_an_enumerator_closes_the_connection
    http, response = endless_array
    assert_equal 1, response.each_json.next
    response.close
    assert_closed(http)
  end

  def test_a_close_from_within_the_block
    values = []
    response = client(serve(script: [[:read, "#{HEAD}[1,2,", :stall]]).url).get("/", stream: true)
    assert_raises(Trunkline::Cancelled) do
      response.each_json do |value|
        values << value
        response.close
      end
    end
    assert_equal 1, values.first
  end

  # ---- buffered responses ----

  def test_buffered_responses_can_be_read_again
    http = client(serve(json_response([1, { "a" => 2 }])).url)
    batched = nil
    http.each(["/"]) { |_url, response| batched = response }
    responses = [http.get("/"), http.async.get("/").value, batched]
    responses.each do |whole|
      2.times { assert_equal [1, { "a" => 2 }], whole.each_json.to_a }
      assert_equal 1, whole.each_json.first
      assert_equal [1, { "a" => 2 }], whole.json
    end
    assert_equal [1], http.get("/").each_json("0").to_a
  end

  def test_stubs
    stubs = opened(Trunkline::Stubs.new)
    stubs.define_singleton_method(:stop) { disable }
    stubs.enable.get("http://api.test/").answer(json: { items: [1, 2] })
    [false, true].each { |stream| assert_equal [1, 2], client.get("http://api.test/", stream: stream).each_json("items.*").to_a }
  end

  def test_a_body_that_changes_during_each_json
    whole = client(serve(json_response((1..100_000).to_a)).url).get("/")
    assert_equal((1..100_000).sum, whole.each_json.sum { |value| whole.body.clear && value })
  end

  # Measures a process that does nothing else: the memory of the body is the server's.
  READER = <<~RUBY
    require "memory"
    Memory.collect
    before = Memory.resident_bytes
    Memory.reset_peak
    count = 0
    Trunkline.get(URL, timeout: 150, stream: true).each_json("items.*") { |value| count += value["id"] }
    puts count, Memory.peak_bytes - before
  RUBY

  def test_memory_stays_flat
    element = JSON.generate(id: 1, name: "user", tags: %w[a b c], address: { city: "Springfield", text: "x" * 200 })
    assert_memory_stays_flat(element, at_once: 256, bytes: 64 * 1024 * 1024)
  end

  def test_memory_stays_flat_with_long_strings
    assert_memory_stays_flat(JSON.generate(id: 1, text: "x" * 20_000), at_once: 50, bytes: 256 * 1024 * 1024)
  end

  def test_compressed
    packed = Zlib.gzip(JSON.generate((1..1000).to_a))
    server = serve(response_bytes(packed, "Content-Encoding" => "gzip", "Content-Type" => "application/json"))
    assert_equal (1..1000).to_a, client(server.url).get("/", stream: true).each_json.to_a
  end

  private

  # @return [Array(Client, Response)]
  def endless_array
    http = client(serve(script: [[:read, "#{HEAD}[1,2,", :stall]]).url)
    [http, http.get("/", stream: true)]
  end

  def assert_closed(http) = assert_equal([0, 0], http.stats.to_h.values_at(:in_use, :idle))

  def assert_memory_stays_flat(element, at_once:, bytes:)
    piece = "#{element}," * at_once
    pieces = bytes / piece.bytesize
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      connection << chunk("{\"skipped\":[#{piece}0],\"items\":[")
      pieces.times { connection << chunk(piece) }
      connection << chunk("#{element}]}") << "0\r\n\r\n"
    end
    result = Subprocess.run("URL = #{server.url.inspect}\n#{READER}")
    count, grown = result.out.split.map(&:to_i)
    assert_equal (pieces * at_once) + 1, count, result.err
    assert_operator grown, :<, 50 * 1024 * 1024
  end
end
