# frozen_string_literal: true

# Validates the files of Trunkline.record against the JSON schemas of HAR 1.2: suite.rb FOLDER (see rake har).

SCHEMAS = ARGV.shift or abort "suite.rb FOLDER: the folder of har.json"

require_relative "../test_helper"
require_relative "../support/call_styles"
require "json_schemer"
require "tmpdir"
require "zlib"

class HARSuite < TrunklineTest
  include CallStyles

  SET = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: id=1; Path=/; HttpOnly\r\n" \
        "Content-Length: 2\r\n\r\n{}"
  CODED = Zlib.gzip("hello" * 100)
  ANSWERS = {
    "/" => [SET], "/moved" => ["HTTP/1.1 302 Found\r\nLocation: /?a=1\r\nContent-Length: 0\r\n\r\n"], "/?a=1" => [SET],
    "/nothing" => ["HTTP/1.1 204 No Content\r\n\r\n"], "/no-reason" => ["HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"],
    "/picture" => ["HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n\x89PNG".b],
    "/gzip" => ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #{CODED.bytesize}\r\n\r\n".b + CODED],
    "/busy" => ["HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", SET], "/closed" => [nil],
    "/search?q=a%20b&empty=&flag" => [SET]
  }.freeze

  def test_every_kind_of_call
    found = problems { record_all }
    assert_empty found, found.map { |one| "#{one["data_pointer"]}: #{one["error"]}" }.join("\n")
    assert_operator @har["log"]["entries"].size, :>, ANSWERS.size
  end

  def test_nothing
    assert_empty(problems { nil })
  end

  # Tests the schemas themselves: they must refuse a document that is not a HAR.
  def test_the_schema_refuses_invalid_har_documents
    refute_empty SCHEMA.validate({ "log" => { "version" => "1.2" } }).to_a
    problems { record_all }
    @har["log"]["entries"].first.delete("timings")
    refute_empty SCHEMA.validate(@har).to_a
  end

  SCHEMA = JSONSchemer.schema(JSON.parse(File.read("#{SCHEMAS}/har.json")), ref_resolver: lambda do |uri|
    JSON.parse(File.read("#{SCHEMAS}/#{File.basename(uri.path)}"))
  end)

  private

  # @return [Array<Hash>] the schema violations of the file recorded while the block ran
  def problems(&block)
    Dir.mktmpdir do |folder|
      Trunkline.record("#{folder}/calls.har", &block)
      @har = JSON.parse(File.read("#{folder}/calls.har"))
    end
    SCHEMA.validate(@har).to_a
  end

  def record_all
    http = client(serve_sequence(ANSWERS).url, retry: { backoff: 0.001..0.002 })
    (ANSWERS.keys - ["/closed"]).each { |path| http.get(path) }
    each_call_style { |_, call| call.call(http, :get, "/") }
    http.get("/moved", follow: 2)
    http.head("/")
    [{ json: { a: 1 } }, { form: { a: 1 } }, { multipart: { a: StringIO.new("x") } }, { body: "\xFF\0".b }]
      .each { |body| http.post("/", body) }
    assert_raises(Trunkline::ConnectionClosed) { http.get("/closed", retry: false) }
    assert_raises(Trunkline::ConnectError) { client("http://127.0.0.1:#{refused_port}").get("/") }
    secure_client(serve_tls.url).get("/")
  ensure
    Trunkline::Policy::State.clear
  end
end
