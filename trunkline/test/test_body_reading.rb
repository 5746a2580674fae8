# frozen_string_literal: true

require_relative "test_helper"
require "csv"
require "stringio"
require "trunkline/stubs"

# Response bodies read as text, and through the methods of an IO.
class TestBodyReading < TrunklineTest
  TEXT = "grün,日本\n𝄞,é\r\n" * 20

  # Returns a response whose body arrives in these pieces, or, with stream: false, as a whole.
  def response(pieces, type = nil, stream: true)
    headers = type ? { "Content-Type" => type } : {}
    http = client(serve(chunked_response(*pieces, **headers)).url)
    stream ? http.get("/", stream: true) : http.get("/")
  end

  def slices(text, size) = text.b.scan(/.{1,#{size}}/mn)

  # The engine in C copies the bytes that were read too far into a new String, which may start the collector.
  def test_bytes_that_were_read_too_far_survive_a_collection
    bodies = Array.new(20) do
      one = response(["one\ntwo\nrest"])
      one.gets
      GC.stress = true
      one.body
    ensure
      GC.stress = false
    end
    assert_equal ["two\nrest"], bodies.uniq
  end

  # ---- characters ----

  def test_characters_are_not_divided_between_chunks
    sizes = { "UTF-8" => 1, "Shift_JIS" => 1, "EUC-JP" => 1, "GB18030" => 3, "UTF-16LE" => 3, "UTF-16BE" => 1 }
    sizes.each do |charset, size|
      text = (charset.match?(/UTF|GB/) ? TEXT : "日本語 abc ｱ\n").encode(charset)
      chunks = []
      server = serve(chunked_response(*slices(text, size), "Content-Type" => "text/plain; charset=#{charset}"))
      client(server.url).get("/") { |chunk| chunks << chunk }
      assert_equal text, chunks.join, charset
      assert(chunks.all? { |chunk| chunk.encoding == text.encoding && chunk.valid_encoding? && !chunk.empty? }, charset)
    end
  end

  def test_content_types_that_are_utf8_without_a_charset
    %w[application/json application/problem+json application/x-ndjson application/jsonl text/event-stream
       Application/JSON].each do |type|
      assert_equal TEXT, response(slices(TEXT, 5), type).each.to_a.join, type
      assert_equal [Encoding::UTF_8] * 2,
                   [response(["ü"], type, stream: false).body, response(["ü"], type).body].map(&:encoding)
    end
  end

  def test_without_a_known_charset_chunks_are_binary
    [nil, "text/plain", "application/octet-stream", "text/plain; charset=none-such", "text/plain; charset=iso-2022-jp",
     "text/jsonl"].each do |type|
      chunks = response(["\xC3", "\xBC"].map(&:b), type).each.to_a
      assert_equal ["\xC3\xBC".b, [Encoding::BINARY]], [chunks.join, chunks.map(&:encoding).uniq], type
    end
  end

  def test_invalid_bytes_are_not_buffered
    ["\xC3\xC3\xC3", "a\xFFb", "\xE2\x82", "ok\xF0\x9F"].each do |bytes|
      chunks = response(slices(bytes, 1), "application/json").each.to_a
      assert_equal bytes.b, chunks.join.b
      assert_equal bytes.b, response(slices(bytes, 2), "application/json").body.b
    end
  end

  def test_an_incomplete_character_is_part_of_the_rest
    [:body.to_proc, ->(rest) { rest.each.to_a.join }, ->(rest) { rest.read(100).force_encoding("UTF-8") },
     :gets.to_proc].each do |way|
      first_is_read = Queue.new
      server = serve do |connection|
        connection.read_request
        connection << "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\na\xC3".b
        first_is_read.pop
        connection << "\xBCb".b
      end
      rest = client(server.url).get("/", stream: true)
      assert_equal "a", rest.read
      first_is_read << true
      assert_equal "üb", way.call(rest)
    end
  end

  # ---- methods of an IO ----

  def test_reading_a_number_of_bytes
    [true, false].each do |stream|
      body = response(slices(TEXT, 7), "application/json", stream: stream)
      io = StringIO.new(TEXT.b)
      [3, 0, 1, 20, 7, 100_000, 0, 5].each do |length|
        expected = io.read(length)
        assert_equal [expected, Encoding::BINARY], [got = body.read(length), got ? got.encoding : Encoding::BINARY]
      end
      assert_predicate body, :eof?
      assert_raises(ArgumentError) { body.read(-1) }
    end
  end

  def test_reading_into_a_buffer
    body = response(%w[one two three])
    buffer = +"old"
    assert_same buffer, body.read(4, buffer)
    assert_equal "onet", buffer
    assert_same buffer, body.readpartial(1, buffer)
    assert_equal "w", buffer
    rest = body.read(nil, buffer).dup
    assert_equal "o", rest[0], "the next chunk"
    rest << buffer while body.read(buffer)
    assert_equal "othree", rest
    assert_nil body.read(1, buffer)
    assert_equal "", buffer
    buffer << "old"
    assert_raises(EOFError) { body.readpartial(1, buffer) }
    assert_equal "", buffer
    assert_equal "", body.readpartial(0)
  end

  def test_io_copy_stream
    large = "0123456789abcdef" * 20_000
    [true, false].each do |stream|
      copy = StringIO.new(+"".b)
      assert_equal large.bytesize, IO.copy_stream(response(slices(large, 50_001), stream: stream), copy)
      assert_equal large, copy.string
      assert_equal 10, IO.copy_stream(part = response([large], stream: stream), copy = StringIO.new, 10)
      assert_equal large[0, 10], copy.string
      part.close
    end
  end

  # JRuby 9.4's StringIO#each_line(chomp: true) does not remove a given separator "\r\n"; with the separator nil it
  # removes the newline at the end of the text; a separator beyond ASCII raises a Java exception.
  UNLIKE_IO = RUBY_ENGINE == "jruby" && RUBY_VERSION < "3.4" ? [["\r\n"], [nil], [nil, 5], ["日"]] : []

  def test_lines_are_those_of_an_io
    ways = [[], ["\r\n"], [nil], [7], ["\n", 4], [nil, 5], ["日"], ["\n", 1000], [1]]
    [[true, 1], [true, 6], [true, 5000], [false, 9]].each do |stream, size|
      ways.product([true, false]).each do |arguments, chomp|
        next if UNLIKE_IO.include?(arguments)

        body = response(slices(TEXT, size), "application/x-ndjson", stream: stream)
        assert_equal StringIO.new(TEXT).each_line(*arguments, chomp: chomp).to_a,
                     body.each_line(*arguments, chomp: chomp).to_a, [stream, size, arguments, chomp].inspect
        assert_nil body.gets
      end
    end
    assert_raises(ArgumentError) { response(["a"], stream: false).gets("") }
  end

  def test_lines_of_other_encodings
    %w[Shift_JIS EUC-JP GB18030 UTF-16LE UTF-16BE ISO-8859-1 ISO-2022-JP].each do |charset|
      text = (charset == "ISO-8859-1" ? "grün\r\né\n\nü" : "日本語\nａ\r\nソ表\n\nｂ").encode(charset)
      bytes = charset == "ISO-2022-JP" ? text.b : text
      [1, 3, 1000].product([true, false]).each do |size, chomp|
        body = response(slices(text, size), "text/plain; charset=#{charset}")
        expected = StringIO.new(bytes).each_line("\n".encode(bytes.encoding), chomp: chomp).to_a
        separator = charset.start_with?("UTF-16") ? "\n".encode(charset) : "\n"
        lines = body.each_line(separator, chomp: chomp).to_a
        assert_equal expected, lines, [charset, size, chomp].inspect unless charset.start_with?("UTF-16") && chomp
      end
    end
  end

  def test_the_limit_of_lines_by_its_name
    text = "short\nlonger than ten\n\n"
    [true, false].each do |stream|
      lines = response(slices(text, 7), stream: stream).each_line(chomp: true, limit: 10).to_a
      assert_equal StringIO.new(text).each_line("\n", 10, chomp: true).to_a, lines
      assert_equal %w[a b c], response(%w[abc], stream: stream).each_line(limit: 1).to_a
    end
    [[{ limit: 0 }], [0, {}], [{ limit: -1 }]].each do |*positional, options|
      assert_raises(ArgumentError) { response(["a\nb"], stream: false).each_line(*positional, **options).to_a }
    end
  end

  def test_lines_and_other_ways_of_reading
    text = "one\ntwo\nthree\nfour\nfive\n"
    [true, false].each do |stream|
      body = response([text], "application/x-ndjson", stream: stream)
      assert_equal "one\n", body.each_line.first
      assert_equal %W[two\n th], [body.gets, body.read(2)]
      refute_predicate body, :eof?
      assert_equal "ree", body.gets(chomp: true)
      rest = body.read
      assert_equal ["four\nfive\n", Encoding::UTF_8], [rest, rest.encoding]
      assert_equal "four\nfive\n!", rest << "!", "it is the caller's own"
      assert_equal [nil, true], [body.gets, body.eof?]
    end
    body = response([text])
    assert_equal "one\n", body.gets
    assert_equal "two\nthree\nfour\nfive\n", body.body
  end

  def test_a_whole_body_that_is_changed_while_its_lines_are_read
    body = response(["one\ntwo\n#{"x" * 100}\n"], stream: false)
    assert_equal(["one\n", "two\n", "#{"x" * 100}\n"], body.each_line.map { |line| body.body.replace("") && line })
  end

  def test_csv
    rows = [["name", "city"], ["Jörg", "Köln \"am\" Rhein"], ["é,", "a\nb"]] * 300
    text = CSV.generate { |csv| rows.each { |row| csv << row } }
    { "UTF-8" => text, "ISO-8859-1" => text.encode("ISO-8859-1") }.each do |charset, bytes|
      [true, false].each do |stream|
        body = response(slices(bytes, 777), "text/csv; charset=#{charset}", stream: stream)
        assert_equal charset, body.external_encoding.name
        assert_equal rows, CSV.new(body).map { |row| row.map { |field| field.encode("UTF-8") } }
      end
    end
  end

  def test_every_reading_method_raises_for_a_truncated_body
    half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    [->(body) { body.read(50) }, :gets.to_proc, ->(body) { 2.times { body.readpartial(50) } },
     ->(body) { IO.copy_stream(body, StringIO.new) }, ->(body) { body.each_line { flunk } }].each do |way|
      body = client(serve(script: [[:read, half, :close]]).url).get("/", stream: true)
      assert_raises(Trunkline::TruncatedBody) { way.call(body) }
    end
  end

  def test_a_stubbed_response_is_read_in_the_same_way
    http = client("http://stubbed.test")
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://stubbed.test/").answer(200, headers: { "Content-Type" => "application/json" }, body: TEXT)
      assert_equal TEXT.lines, http.get("/", stream: true).each_line.to_a
      body = http.get("/", stream: true)
      assert_equal TEXT.b, body.read(3) + body.body.b
    end
  end
end
