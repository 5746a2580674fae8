# frozen_string_literal: true

require_relative "test_helper"

# The status line, fields, body, charset and JSON of a response.
class TestResponse < TrunklineTest
  stressable

  def test_status_line
    response = get(response_bytes("", status: "418 I'm a teapot"))
    assert_equal [418, "I'm a teapot", "1.1"], [response.status, response.reason, response.http_version]
  end

  def test_names_and_values_of_fields_are_the_callers
    texts = client(serve(response_bytes("x", "X-Odd" => "1")).url).get("/").headers.to_a.flatten
    assert_includes texts, "Content-Length"
    assert_empty texts.select(&:frozen?)
    assert_equal [Encoding::US_ASCII], texts.map(&:encoding).uniq
  end

  def test_http_1_0
    server = serve(script: [[:read, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", :close]])
    http = client(server.url)
    response = http.get("/")
    assert_equal %w[1.0 ok], [response.http_version, response.body]
    http.get("/")
    assert_equal 2, server.connection_count, "HTTP/1.0 without keep-alive is not reused"
  end

  def test_http_1_0_with_keep_alive_is_reused
    server = serve("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok")
    http = client(server.url)
    assert_same_connection http.get("/"), http.get("/")
  end

  def test_a_reason_may_be_missing
    assert_equal "", get("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n").reason
    assert_equal "", get("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n").reason.to_s
  end

  def test_headers_are_case_insensitive_and_keep_their_order
    headers = get(response_bytes("", "X-One" => "1", "x-two" => "2", "X-Three" => "3")).headers
    assert_equal "1", headers["x-one"]
    assert_equal "2", headers["X-TWO"]
    assert_nil headers["x-four"]
    names = headers.each.map { |name, _| name.downcase }
    assert_equal %w[content-length x-one x-two x-three], names
  end

  def test_a_symbol_names_a_header_everywhere
    response = get(response_bytes("", "Content-Type" => "text/plain"))
    assert_equal ["text/plain"] * 2, [response[:content_type], response.headers[:content_type]]
    assert_nil response[:content_kind]
  end

  def test_repeated_headers_are_kept
    response = get("HTTP/1.1 200 OK\r\nSet-Cookie: a=1, b\r\nX: 1\r\nset-cookie: c=2\r\nContent-Length: 0\r\n\r\n")
    assert_equal ["a=1, b", "c=2"], response.headers.get_all("Set-Cookie")
    assert_equal "a=1, b, c=2", response["set-cookie"]
    assert_equal [], response.headers.get_all("missing")
  end

  def test_headers_as_a_hash_have_names_in_lower_case_and_joined_values
    long = "X-#{"Long" * 40}"
    bytes = response_bytes("", "Set-Cookie" => "a=1, b", "SET-cookie" => "c=2", long => "1", "X" => "gr\xFCn".b)
    headers = get(bytes).headers
    hash = { "content-length" => "0", "set-cookie" => "a=1, b, c=2", long.downcase => "1", "x" => "gr\xFCn".b }
    assert_equal hash, headers.to_h
    assert_equal hash, Trunkline::Headers.new(headers.to_a).to_h
    headers.to_h["set-cookie"] << "; changed"
    assert_equal hash, headers.to_h
  end

  def test_header_values_are_trimmed_and_may_be_empty
    response = get("HTTP/1.1 200 OK\r\nA:1\r\nB: \t 2 \t\r\nC:\r\nContent-Length: 0\r\n\r\n")
    assert_equal ["1", "2", ""], %w[A B C].map { |name| response[name] }
  end

  def test_header_bytes_above_127_are_kept
    value = get(response_bytes("", "X" => "gr\xFCn".b))["X"]
    assert_equal ["gr\xFCn".b, Encoding::BINARY, false], [value, value.encoding, value.ascii_only?]
    assert_match(/\Agr/, value)
    assert_equal Encoding::US_ASCII, get(response_bytes("", "X" => "green"))["X"].encoding
  end

  # The C engine checks eight bytes at once, and the rest one by one.
  def test_a_value_with_a_byte_above_127_is_binary_wherever_it_is
    values = Array.new(17) { |place| ("a" * 17).b.tap { |value| value.setbyte(place, 0x80) } }
    fields = values.each_with_index.to_h { |value, place| ["X-#{place}", value] }
    response = get(response_bytes("", **fields, "X-None" => "a" * 17))
    seen = fields.keys.map { |name| response[name] }
    assert_equal [values, [Encoding::BINARY]], [seen, seen.map(&:encoding).uniq]
    assert_equal Encoding::US_ASCII, response["X-None"].encoding
  end

  def test_the_body_has_the_charset_of_its_content_type
    { "text/plain; charset=iso-8859-1" => Encoding::ISO_8859_1,
      "text/plain; charset=\"UTF-8\"" => Encoding::UTF_8,
      "application/json" => Encoding::UTF_8,
      "application/octet-stream" => Encoding::BINARY }.each do |type, encoding|
      body = get(response_bytes("gr\xC3\xBCn", "Content-Type" => type)).body
      assert_equal encoding, body.encoding, type
    end
  end

  CHARSETS = {
    "UTF8" => Encoding::UTF_8, "utf_8" => Encoding::UTF_8, "\"utf8\"" => Encoding::UTF_8, "us-ascii" => Encoding::US_ASCII,
    "ISO8859-1" => Encoding::ISO_8859_1, "Latin1" => Encoding::ISO_8859_1, "windows-1252" => Encoding::Windows_1252,
    "Shift_JIS" => Encoding::Shift_JIS, "x-sjis" => Encoding::Windows_31J, "gb2312" => Encoding::EUC_CN
  }.freeze
  # Names of Ruby's special encodings, and unknown names.
  NO_CHARSETS = ["internal", "external", "locale", "filesystem", "Internal", "klingon", "../../x", "a" * 63, "b" * 200,
                 "\xFF".b].freeze

  def test_charsets_have_more_names_than_ruby_knows
    CHARSETS.each do |name, encoding|
      response = get(response_bytes("x", "Content-Type" => "text/plain; charset=#{name}"))
      assert_equal encoding, response.body.encoding, name
    end
  end

  def test_an_unknown_charset_is_binary
    NO_CHARSETS.each do |name|
      body = get(response_bytes("x", "Content-Type" => "text/plain; charset=#{name}")).body
      assert_equal Encoding::BINARY, body.encoding, name
    end
    ["", "utf-8\0x", *NO_CHARSETS].each { |name| assert_nil Trunkline::Engine.charset(name), name }
  end

  # An entry of the load path that counts the searches of the load path.
  Searched = Struct.new(:times) do
    def to_path
      self.times += 1
      __dir__
    end
  end

  def test_the_load_path_is_not_searched_for_charsets
    searched = Searched.new(0)
    server = serve { |connection| connection << typed(connection) while connection.read_request }
    http = client(server.url)
    names = ["utf8", *NO_CHARSETS]
    names.each { |name| http.get("/", headers: { "X-Charset" => name }).body }
    $LOAD_PATH.unshift(searched)
    [*names, "never-seen"].each { |name| http.get("/", headers: { "X-Charset" => name }).body }
    assert_equal 0, searched.times
    assert_raises(ArgumentError) { Encoding.find("klingon") }
    assert_operator searched.times, :>, 0, "this is how Ruby searches" unless RUBY_ENGINE == "jruby"
  ensure
    $LOAD_PATH.delete(searched)
  end

  def test_bytes_that_are_not_valid_in_their_charset_are_kept
    body = get(response_bytes("\xFF\xFE", "Content-Type" => "text/plain; charset=utf-8")).body
    assert_equal "\xFF\xFE".b, body.b
  end

  def test_json
    assert_equal({ "a" => [1, "ü"] }, get(json_response({ "a" => [1, "ü"] })).json)
  end

  def test_a_body_that_is_no_json
    error = assert_raises_with(Trunkline::DecodeError, sent: :all, phase: :read) do
      get(response_bytes("<html>private</html>", status: "502 Bad Gateway", "Content-Type" => "text/html")).json
    end
    assert_equal [502, "<html>private</html>"], [error.response.status, error.response.body]
    assert_kind_of JSON::ParserError, error.cause
    ["GET / at 127.0.0.1:", "502", "text/html", "no JSON"].each { |part| assert_includes error.message, part }
  end

  # Bodies that a JSON parser quotes in its error message.
  NO_JSON = ["{", "SECRET", "{SECRET", "[1,SECRET", "\"SECRET\xFF", "\"\x01SECRET\"", "[-SECRET]", "[1]SECRET",
             "\"\\uSECRET\"", "/*SECRET", "{\"a\": SECRET}", "{\"SECRET", "[" * 200, "[NaN] SECRET", " ",
             "\xFFSECRET", "[1, \xFF", "{\"a\": \xE9SECRET}"].freeze

  def test_bodies_are_not_in_messages
    NO_JSON.each do |body|
      error = assert_raises(Trunkline::DecodeError, body) { get(response_bytes(body)).json }
      assert_kind_of JSON::ParserError, error.cause, body
      refute_empty error.cause.message
      refute_match(/SECR/, error.full_message(highlight: false), body)
    end
  end

  def test_json_in_a_charset
    assert_equal ["ü"], get(response_bytes("[\"\xFC\"]".b, "Content-Type" => "text/json; charset=iso-8859-1")).json
    %w[utf-16le utf-7 shift_jis].each do |charset|
      broken = get(response_bytes("[\"\xFD\xFF\"]x".b, "Content-Type" => "text/json; charset=#{charset}"))
      assert_kind_of JSON::ParserError, assert_raises(Trunkline::DecodeError, charset) { broken.json }.cause
    end
  end

  def test_a_custom_decoder
    decoder = ->(text, keys: 0) { text == "{private" ? raise("what came: #{text}") : [text, keys] }
    json = lambda do |body, **options|
      client(serve(response_bytes(body)).url, json_decoder: decoder).get("/").json(**options)
    end
    assert_equal ['{"a":1}', 0], json.call('{"a":1}')
    assert_equal ["{}", 1], json.call("{}", keys: 1)
    error = assert_raises(Trunkline::DecodeError) { json.call("{private") }
    assert_match(/json_decoder: raised RuntimeError/, error.message)
    refute_match(/private/, error.message)
    assert_match(/what came/, error.cause.message)
  end

  def test_no_body_is_no_json
    ["204 X\r\n", "205 X\r\nContent-Length: 0\r\n"].each { |head| assert_nil get("HTTP/1.1 #{head}\r\n").json }
    assert_nil get(response_bytes("")).json
    assert_nil client(serve(response_bytes("")).url).head("/").json
  end

  # Programs join a message with other text, as loggers do.
  def test_messages_are_utf8_although_the_reason_phrase_is_not
    error = assert_raises(Trunkline::ClientError) { get(response_bytes("", status: "404 gr\xFCn".b)).raise_for_status! }
    assert_equal [Encoding::UTF_8, true], [error.message.encoding, error.message.valid_encoding?]
    assert_includes "ü #{error.message}", "404 gr"
  end

  def test_ok
    { 200 => true, 204 => true, 299 => true, 301 => false, 404 => false, 500 => false }.each do |status, ok|
      assert_equal ok, get("HTTP/1.1 #{status} X\r\n#{"Content-Length: 0\r\n" unless status == 204}\r\n").ok?, status
    end
  end

  def test_raise_for_status
    assert_equal 200, get(response_bytes).raise_for_status!.status
    missing = get(response_bytes("no", status: "404 Not Found"))
    client_error = assert_raises(Trunkline::ClientError) { missing.raise_for_status! }
    assert_equal "no", client_error.response.body
    assert_match(/404/, client_error.message)
    server_error = assert_raises(Trunkline::ServerError) { get(response_bytes("", status: "503 X")).raise_for_status! }
    assert_kind_of Trunkline::StatusError, server_error
  end

  def test_chunked_body_and_trailers
    response = get(chunked_response("one", "two", trailers: { "X-Sum" => "6", "ETag" => "\"x\"" }))
    assert_equal "onetwo", response.body
    assert_equal "6", response.trailers["x-sum"]
    assert_nil response["X-Sum"], "a trailer is not a header"
    refute_predicate response, :length_unknown?
  end

  def test_chunk_extensions_are_ignored
    raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;name=value;q=\"a;b\"\r\nabc\r\n0;last\r\n\r\n"
    assert_equal "abc", get(raw).body
  end

  def test_a_close_delimited_body_has_length_unknown
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\n\r\nuntil the end", :close]])
    http = client(server.url)
    response = http.get("/")
    assert_equal "until the end", response.body
    assert_predicate response, :length_unknown?
    http.get("/")
    assert_equal 2, server.connection_count
  end

  def test_responses_without_a_body
    server = serve do |connection|
      while (request = connection.read_request)
        connection << bodyless(request)
      end
    end
    http = client(server.url)
    assert_equal "", http.head("/head").body
    assert_equal "", http.get("/204").body
    assert_equal "", http.get("/304").body
    assert_equal "real", http.get("/real").body
    assert_equal 1, server.connection_count
  end

  def test_a_response_to_head_keeps_its_content_length
    assert_equal "5000",
                 client(serve("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n").url).head("/")["Content-Length"]
  end

  def test_connection_close_is_honoured
    server = serve(response_bytes("ok", "Connection" => "foo, Close"))
    http = client(server.url)
    2.times { http.get("/") }
    assert_equal 2, server.connection_count
  end

  def test_connection_close_of_a_request_is_kept
    server = serve
    http = client(server.url)
    2.times { http.get("/", headers: { "Connection" => "Close" }) }
    assert_equal 2, server.connection_count, "no request follows the one that said close (RFC 9112 9.6)"
    2.times { http.get("/") }
    assert_equal 3, server.connection_count
  end

  def test_timings
    server = serve { |connection| connection.read_request && connection << (sleep(0.1) && response_bytes) }
    http = client(server.url)
    seconds, response = timed { http.get("/") }
    timings = response.timings
    assert_operator timings.first_byte, :>=, 0.09
    assert_operator timings.total, :>=, timings.first_byte
    assert_operator timings.connect, :<, 0.09 + ClockJitter.lateness(seconds)
    assert_kind_of Float, timings.write
    assert_nil timings.tls
  end

  def test_phases_are_no_part_of_each_other
    timings = secure_client(serve_tls.url).get("/").timings
    assert_operator timings.to_h.slice(:queue, :resolve, :connect, :tls, :write, :first_byte).values.compact.sum, :<=,
                    timings.total
  end

  def test_timings_of_a_reused_connection_have_no_connect
    http = client(serve.url)
    http.get("/")
    timings = http.get("/").timings
    assert_nil timings.connect
    assert_nil timings.resolve
  end

  def test_connection_facts
    server = serve_tls
    http = secure_client(server.url)
    first = http.get("/").connection
    sleep 0.05
    second = http.get("/").connection
    assert_equal first.id, second.id
    refute_predicate first, :reused?
    assert_predicate second, :reused?
    assert_operator second.age, :>=, 0.05
    assert_includes second.address, "127.0.0.1"
    assert_equal "TLSv1.3", second.tls_version
    assert_match(/TLS_/, second.cipher)
  end

  def test_a_plain_connection_has_no_tls
    connection = client(serve.url).get("/").connection
    assert_nil connection.tls_version
    assert_nil connection.cipher
  end

  def test_attempts_list_the_only_attempt
    attempts = client(serve.url).get("/").attempts
    assert_equal 1, attempts.size
    assert_equal 1, attempts.first.number
    assert_nil attempts.first.error
    assert_equal :all, attempts.first.sent
    assert_includes attempts.first.address, "127.0.0.1"
  end

  def test_the_request_and_the_final_url
    server = serve
    response = client(server.url).get("/path", params: { a: 1 })
    assert_equal server.url("/path?a=1"), response.url.to_s
    assert_equal "GET", response.request.method.to_s
  end

  def test_a_body_can_be_read_again
    response = get(response_bytes("kept"))
    GC.start
    assert_equal %w[kept kept], [response.body, response.body]
    assert_same response.body, response.body
  end

  def test_inspect_is_short
    assert_operator get(response_bytes("x" * 10_000)).inspect.size, :<, 500
  end

  private

  def typed(connection)
    response_bytes("x", "Content-Type" => "text/plain; charset=#{connection.requests.last["X-Charset"]}")
  end

  def get(bytes)
    client(serve(bytes).url).get("/")
  end

  def bodyless(request)
    return "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" if request.verb == "HEAD"

    case request.target
    when "/204" then "HTTP/1.1 204 No Content\r\n\r\n"
    when "/304" then "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n"
    else response_bytes("real")
    end
  end
end
