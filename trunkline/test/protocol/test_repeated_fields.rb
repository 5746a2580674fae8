# frozen_string_literal: true

require_relative "../test_helper"

# Responses that repeat the field lines of earlier ones on the same connection, or change them.
class TestRepeatedFields < TrunklineTest
  # The field lines of successive responses to the same connection, and the fields that they have.
  SEQUENCE = [
    ["Server: a\r\nX-A: 1", { "server" => "a", "x-a" => "1" }],
    ["Server: a\r\nX-A: 2", { "server" => "a", "x-a" => "2" }],
    ["server: a\r\nX-A: 1", { "server" => "a", "x-a" => "1" }],
    ["Server:a\r\nX-A:\t1 ", { "server" => "a", "x-a" => "1" }],
    ["Server: a\r\nServer: a\r\nX-A: 1", { "server" => "a, a", "x-a" => "1" }],
    ["Server: \xE9\r\nX-A: 1".b, { "server" => "\xE9".b, "x-a" => "1" }],
    ["Server: a\r\nX-A: 1\r\nX-A: 2", { "server" => "a", "x-a" => "1, 2" }],
    ["X-A: 1", { "server" => nil, "x-a" => "1" }]
  ].freeze

  def test_each_response_has_its_own_fields
    rounds = SEQUENCE * 3
    server = serve_heads(rounds.map(&:first))
    http = client(server.url)
    rounds.each do |lines, fields|
      response = http.get("/")
      assert_equal fields, fields.keys.to_h { |name| [name, response[name]] }, lines
      assert_equal 2, response.body.bytesize
    end
    assert_equal 1, server.connection_count
  end

  def test_the_fields_do_not_change_with_those_of_another_response
    http = client(serve_heads(["Server: a", "Server: a", "Server: a"]).url)
    first = http.get("/")
    first["server"] << "!"
    first.headers["server"] << "!" unless first.headers["server"].frozen?
    second = http.get("/")
    assert_equal "a", second["server"]
    assert_equal "a", http.get("/").headers["server"]
  end

  # A field defines the framing in each response, not only in the first.
  def test_each_response_has_its_own_framing
    bodies = ["Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
              "Content-Length: 3\r\n\r\nabc", "Content-Length: 2\r\n\r\nok",
              "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"] * 2
    server = serve_in_turn(bodies.map { |bytes| "HTTP/1.1 200 OK\r\n#{bytes}" })
    http = client(server.url)
    assert_equal %w[ok abc abc ok ok] * 2, Array.new(10) { http.get("/").body }
    assert_equal 1, server.connection_count
  end

  # More lines than are kept for a connection, all different, and one line that repeats.
  def test_many_different_lines
    heads = Array.new(60) { |at| ["Server: a", *Array.new(5) { |n| "X-#{n}: #{at}" }].join("\r\n") }
    http = client(serve_heads(heads).url)
    heads.each_index do |at|
      response = http.get("/")
      assert_equal ["a", *[at.to_s] * 5], ["server", *Array.new(5) { |n| "x-#{n}" }].map { |name| response[name] }
    end
  end

  # A line that one response was refused for is refused again, and one that it had before its fault is accepted.
  def test_a_malformed_line_stays_malformed
    good = "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
    bad = "HTTP/1.1 200 OK\r\nX-A: 1\r\nX B: 1\r\nContent-Length: 2\r\n\r\nok"
    server = serve_in_turn([good, bad, good, bad])
    http = client(server.url)
    results = Array.new(4) do
      http.get("/").body
    rescue Trunkline::InvalidResponse => error
      error.class
    end
    assert_equal ["ok", Trunkline::InvalidResponse] * 2, results
  end

  private

  def serve_heads(heads)
    serve_in_turn(heads.map { |lines| "HTTP/1.1 200 OK\r\n#{lines}\r\nContent-Length: 2\r\n\r\nok" })
  end

  # Sends one of the responses for each request, on however many connections.
  def serve_in_turn(responses)
    responses = responses.dup
    serve { |connection| connection << responses.shift.b while connection.read_request }
  end
end
