# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/websocket_peers"

# Which objects a response returns: their encodings, whether they may be changed, and what a frozen response returns.
class TestResponseObjects < TrunklineTest
  include WebSocketPeers

  stressable

  # ---- frozen responses ----

  # Values that are computed on first use.
  LAZY = { body: '{"a":1}', json: { "a" => 1 }, headers: Trunkline::Headers, pairs: Array, timings: Trunkline::Timings,
           connection: Trunkline::ConnectionInfo, attempts: Array, early_hints: [], trailers: Trunkline::Headers,
           content_type: "application/json", reason: "OK", external_encoding: Encoding::UTF_8 }.freeze

  def test_a_frozen_response
    response = get(json_response({ "a" => 1 })).freeze
    2.times do
      LAZY.each do |name, value|
        found = name == :pairs ? response.headers.to_a : response.public_send(name)
        value.is_a?(Class) ? assert_kind_of(value, found, name) : assert_equal(value, found, name)
      end
    end
    assert_equal 1, response.deconstruct_keys([:json])[:json][:a]
  end

  def test_the_body_of_a_frozen_response_is_one_string
    response = get(response_bytes("ok")).freeze
    assert_same response.body, response.body
  end

  def test_a_frozen_stream
    response = stream(response_bytes("one\ntwo\nrest")).freeze
    assert_equal %W[one\n two re], [response.gets, response.gets(chomp: true), response.read(2)]
    assert_equal "st", response.body
    assert_equal "st", response.body
    assert_predicate response, :complete?
    assert_equal %W[a\n b], stream(response_bytes("a\nb")).freeze.each_line.to_a
  end

  def test_the_status_of_a_frozen_stream
    response = stream(response_bytes("gone", status: "404 Not Found")).freeze
    assert_raises(Trunkline::ClientError) { response.raise_for_status! }
    assert_equal "gone", response.body
  end

  # ---- strings that the caller may change ----

  TRAILED = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n" \
            "X: 1\r\n folded\r\nX: 2\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n"

  def test_strings_of_a_response_may_be_changed
    hinted = []
    response = client(serve(TRAILED).url).get("/", early_hints: ->(hints) { hinted << hints })
    headers = [response.headers, response.trailers, *response.early_hints, *hinted]
    strings = headers.flat_map { |one| one.to_a.flatten }
    strings += [response.reason, *response.headers.get_all("x"), response["x"], *response.headers.to_h.values]
    assert_empty strings.select(&:frozen?)
    assert_equal 18, strings.size
  end

  def test_a_changed_string_changes_no_other_value
    response = get(response_bytes("", status: "200 Fine", "Content-Type" => "text/plain; charset=utf-8", "X" => "1"))
    response.reason << "!"
    response.headers.to_a.each { |pair| pair.each(&:clear) }
    assert_equal ["Fine", "1", Encoding::UTF_8], [response.reason, response["X"], response.body.encoding]
  end

  # ---- encodings ----

  BINARY = Encoding::BINARY
  UTF8 = Encoding::UTF_8
  LATIN1 = Encoding::ISO_8859_1
  # Content-Types, one for each field => the encoding of the body
  ENCODINGS = {
    [] => BINARY, ["text/plain"] => BINARY, ["text/plain; charset=utf-8"] => UTF8,
    ["text/plain;charset=\"iso-8859-1\" "] => LATIN1, ["text/plain; CHARSET=Latin1 ; a=b"] => LATIN1,
    ["text/plain; charset="] => BINARY, ["application/json; charset="] => UTF8,
    ["application/json;charset=\"\""] => UTF8, ["text/plain; charset=\"utf-8"] => UTF8,
    ["text/plain; a=b;charset=utf-8"] => UTF8,
    ["text/plain; charset=klingon"] => BINARY, ["application/json; charset=klingon"] => BINARY,
    ["application/problem+json"] => UTF8, ["APPLICATION/JSON ;a=b"] => UTF8, ["+json"] => BINARY,
    ["text/event-stream"] => UTF8, ["text/json"] => BINARY, [""] => BINARY, ["t\xE9xt; charset=utf-8".b] => UTF8,
    ["text/plain; charset=iso-8859-1", "text/plain; charset=utf-8"] => LATIN1,
    ["text/plain", "text/plain; charset=utf-8"] => BINARY, ["application/json", "text/plain"] => UTF8,
    ["text/plain", "application/json"] => BINARY
  }.freeze

  def test_encodings_of_bodies
    ENCODINGS.each do |types, encoding|
      bytes = with_fields(types.map { |type| ["Content-Type", type] })
      assert_equal encoding, get(bytes).body.encoding, types.inspect
      streamed = stream(bytes)
      assert_equal [encoding] * 2, [streamed.external_encoding, streamed.read.encoding], types.inspect
    end
  end

  ASCII = Encoding::US_ASCII
  # values of a repeated field => its joined value and encoding
  FIELDS = {
    ["a"] => ["a", ASCII], %w[a b] => ["a, b", ASCII], [""] => ["", ASCII], ["", ""] => [", ", ASCII],
    ["", "a"] => [", a", ASCII], ["\xFC".b] => ["\xFC".b, BINARY], ["a", "\xFC".b] => ["a, \xFC".b, BINARY],
    ["\xFC".b, "a"] => ["\xFC, a".b, BINARY], ["\xFC".b, "\xFC".b] => ["\xFC, \xFC".b, BINARY],
    ["", "\xFC".b] => [", \xFC".b, BINARY], %w[ü ü] => ["ü, ü".b, BINARY], %w[a b c] => ["a, b, c", ASCII]
  }.freeze

  def test_encodings_of_fields
    FIELDS.each do |values, joined|
      response = get(with_fields(values.map { |value| ["A", value] }))
      found = [response["a"], response[:a], response.headers["A"], response.headers.to_h.fetch("a")]
      assert_equal([joined] * 4, found.map { |one| [one, one.encoding] }, values.inspect)
      assert_equal values.map(&:b), response.headers.get_all("a").map(&:b)
    end
  end

  # ---- arguments ----

  TextOnly = Class.new { def to_s = "a" }
  Path = Struct.new(:to_str)

  def test_a_name_must_be_a_string_or_a_symbol
    response = get(response_bytes("", "A" => "1"))
    { nil => "nil", 5 => "Integer", true => "true", TextOnly.new => TextOnly.name }.each do |name, shown|
      error = assert_raises(TypeError) { response[name] }
      assert_equal "no implicit conversion of #{shown} into String", error.message
    end
    assert_equal %w[1 1], [response["a"], response[Path.new("a")]]
    ["\xFF", "ſ", "ß", ""].each { |name| assert_nil response[name] }
  end

  # ---- early hints, causes ----

  def test_early_hints_of_a_stream_that_was_closed
    script = [:read, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n#{response_bytes("ok")[0..-2]}", :stall]
    response = client(serve(script: [script]).url).get("/", stream: true)
    response.close
    assert_equal(["</a>"], response.early_hints.map { |hints| hints["link"] })
  end

  def test_errors_without_an_exchange_have_no_cause
    request = get(response_bytes("")).request
    error = assert_raises(Trunkline::InvalidResponse) { Trunkline::Engine.response(request, "HTTP/1.1 x\r\n\r\n", "") }
    assert_nil error.cause
  end

  def test_the_error_of_a_websocket_that_was_reset_has_no_cause
    http = client(serve { |connection| WebSocketPeer.new(connection).accept && connection.reset }.url)
    socket = opened_socket(http.websocket)
    error = assert_raises(Trunkline::ConnectionClosed) { socket.read }
    assert_nil error.cause
  end

  private

  def get(bytes) = client(serve(bytes).url).get("/")

  def stream(bytes) = client(serve(bytes).url).get("/", stream: true)

  def with_fields(fields)
    lines = fields.map { |name, value| "#{name}: ".b + value.b + "\r\n" }.join
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n".b + lines + "\r\nx"
  end
end
