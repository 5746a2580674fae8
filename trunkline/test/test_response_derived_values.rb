# frozen_string_literal: true

require_relative "test_helper"
require "shellwords"

class TestResponseDerivedValues < TrunklineTest
  def response_to(fields = "", body = "", status: "200 OK", path: "/users?q=1", **options)
    server = serve(["HTTP/1.1 #{status}\r\n#{fields}Content-Length: #{body.bytesize}\r\n\r\n#{body}"])
    client(server.url).get(path, **options)
  end

  def serve(responses)
    opened(ScriptedServer.new do |connection|
      responses.each { |text| connection.read_request && connection.write(text) }
    end)
  end

  def test_content_type_and_charset
    { "" => [nil, nil],
      "Content-Type: Text/HTML\r\n" => ["text/html", nil],
      "Content-Type: application/json;charset=utf-8\r\n" => ["application/json", "utf-8"],
      "Content-Type: text/csv ; a=b ; Charset=\"ISO-8859-1\"\r\n" => ["text/csv", "ISO-8859-1"] }
      .each do |fields, wanted|
      response = response_to(fields)
      assert_equal wanted, [response.content_type, response.charset], fields
    end
  end

  def test_links_are_resolved_against_the_url
    response = response_to("Link: </users?page=2>; rel=next\r\nLink: <x>; rel=last\r\n")
    assert_equal "#{response.url[%r{\Ahttp://[^/]+}]}/users?page=2", response.links["next"]
    assert_equal %w[next last], response.links.flat_map(&:rels)
  end

  def test_pattern_matching
    matched = case response_to("Content-Type: application/json\r\n", '{"id": 7}')
              in { status: 200, ok: true, json: { id: Integer => id } } then id
              end
    assert_equal 7, matched
    assert_nil response_to("", "no JSON").deconstruct_keys([:json])[:json]
    assert_equal %i[status reason ok url headers content_type body json], response_to.deconstruct_keys(nil).keys
    assert_empty response_to.deconstruct_keys([:nonsense])
  end

  def test_equal_when_all_is_the_same
    server = serve(%w[a a b].map { |body| "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n#{body}" })
    api = client(server.url)
    first, second, third = Array.new(3) { api.get("/") }
    assert_equal first, second
    refute_equal first, third
    refute_equal first, "a"
  end

  def test_no_copies
    response = response_to
    ways = [-> { response.dup }, -> { response.clone }, -> { Marshal.dump(response) }, -> { YAML.dump([response]) }]
    ways.each do |copy|
      assert_match(/status.+headers.+body/, assert_raises(TypeError, &copy).message)
    end
    assert_raises(Trunkline::InvalidRequest) { client("http://127.0.0.1:9").post("/", json: { answer: response }) }
  end

  def test_yaml_of_what_is_no_connection
    response = response_to(path: "/a?token=sesame", bearer: "sesame")
    error = assert_raises(Trunkline::Error) { client("http://127.0.0.1:1").get("/") }
    [response.headers, response.request, response.request.uri, error].each do |written|
      read = YAML.unsafe_load(YAML.dump(written))
      assert_equal written.inspect, read.inspect
    end
    assert_equal error.sent, YAML.unsafe_load(YAML.dump(error)).sent
  end

  def test_to_curl_is_a_command_that_a_shell_reads
    response = response_to(path: "/it's?q=a%20b", bearer: "sesame", headers: { "X-Note" => "it's", "Cookie" => "id=1" })
    words = Shellwords.split(response.to_curl)
    assert_equal "curl", words.first
    assert_equal response.url, words.last
    assert_includes words.each_cons(2).to_a, ["--header", "X-Note: it's"]
    assert_includes words.each_cons(2).to_a, ["--header", "Authorization: [hidden]"]
    assert_includes words.each_cons(2).to_a, ["--header", "Cookie: [hidden]"]
    assert_includes Shellwords.split(response.to_curl(secrets: true)), "Authorization: Bearer sesame"
    assert_includes words, "--compressed"
  end

  def test_to_curl_hides_values_named_like_credentials
    response = response_to(path: "/?api_key=sesame&r[a]=1", headers: { "Api-Key" => "sesame", "X-Auth" => "sesame" })
    refute_includes response.to_curl, "sesame"
    assert_equal 3, response.to_curl(secrets: true).scan("sesame").size
    assert_includes response.to_curl, "--globoff"
  end

  def test_to_curl_of_a_body_that_is_no_text
    ["\xff".b, "a\0b", "\xff"].each do |body|
      server = serve(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
      request = client(server.url).post("/", body: body, headers: { "X-Note" => "é" }).request
      assert_includes request.to_curl, "--data-binary @-"
    end
  end

  def test_to_curl_of_a_form_with_broken_names
    server = serve(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
    file = Trunkline::Part.new("x", filename: "\xFF.txt", headers: { "X-Note" => "\xFC".b })
    form = { "n\xFF" => "1", "b\xFF".b => "2", "w".encode("UTF-16LE") => "3", "f" => file }
    command = client(server.url).post("/", multipart: form).request.to_curl
    ["n\uFFFD=1", "b\uFFFD=2", "w=3"].each { |text| assert_includes Shellwords.split(command), text }
    assert_includes command, "filename=\"\uFFFD.txt\""
  end

  def test_to_curl_sends_the_same
    server = opened(ScriptedServer.new do |connection|
      2.times { connection.read_request && connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
    end)
    request = client(server.url).post("/a", json: { text: "it's \"€\" \\ $HOME\n@x" }).request
    # curl must not load a library that is preloaded into this process, such as a sanitizer.
    assert system({ "LD_PRELOAD" => nil }, "#{request.to_curl} --silent --noproxy '*' --max-time 10", out: File::NULL)
    first, second = server.raw_requests.first(2)
    assert_equal first[/\r\n\r\n(.*)/m], second[/\r\n\r\n(.*)/m]
    assert_equal first.lines.first, second.lines.first
  end
end
