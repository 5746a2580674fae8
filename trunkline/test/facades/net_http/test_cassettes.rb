# frozen_string_literal: true

require "tmpdir"
require "yaml"
require "zlib"
require_relative "../../test_helper"

# VCR's cassettes are the same with and without install!, and each mode can play the other's.
class TestCassettes < TrunklineTest
  # Arguments: where install! is called (before, after VCR is loaded, or never), record or play, folder, URL.
  PROGRAM = <<~RUBY
    require "json"
    require "net/http"

    installed, mode, folder, url = ARGV
    install = -> { require("trunkline/net_http") && Trunkline::NetHTTP.install! }
    install.call if installed == "before"
    require "vcr"
    require "webmock"
    VCR.configure do |config|
      config.cassette_library_dir = folder
      config.hook_into :webmock
    end
    install.call if installed == "after"

    uri = URI(url)
    plain = ->(response) { [response.code, response.message, response.to_hash, response.body.dump, response.body.encoding] }
    results = VCR.use_cassette("calls", record: mode == "record" ? :all : :none) do
      Net::HTTP.start(uri.host, uri.port) do |http|
        pieces = []
        [plain[http.get("/text")], plain[http.get("/gzip")], plain[http.get("/missing")],
         plain[http.post("/json", '{"a":1}', "Content-Type" => "application/json")],
         [plain[http.delete("/text")], http.head("/text").code],
         http.request_get("/chunked") { |response| response.read_body { |piece| pieces << piece } } && pieces.join]
      end << plain[Net::HTTP.get_response(URI("\#{url}/binary"))]
    end
    puts JSON.generate(results)
  RUBY

  ANSWERS = {
    "/text" => Responses.response_bytes("hello", "Content-Type" => "text/plain", "Set-Cookie" => "a=1"),
    "/gzip" => Responses.response_bytes(Zlib.gzip("packed"), "Content-Encoding" => "gzip"),
    "/missing" => Responses.response_bytes("no", status: "404 Not Found"),
    "/json" => Responses.json_response({ "b" => 2 }), "/chunked" => Responses.chunked_response("one", "two"),
    "/binary" => Responses.response_bytes("\xFF\x00\xFE".b, "Content-Type" => "application/octet-stream")
  }.freeze
  INSTALLED = %w[never before after].freeze

  def setup
    super
    @folder = Dir.mktmpdir("cassettes")
    @server = serve do |connection|
      while (request = connection.read_request)
        bytes = ANSWERS.fetch(request.target)
        connection << (request.verb == "HEAD" ? bytes[/\A.*?\r\n\r\n/m] : bytes)
      end
    end
  end

  def teardown
    FileUtils.remove_entry(@folder)
    super
  end

  def test_cassettes_are_the_same_and_played_by_the_other
    recorded = INSTALLED.to_h { |installed| [installed, run_program(installed, "record")] }
    cassettes = INSTALLED.map { |installed| interactions(installed) }

    assert_equal [8, 8, 8], cassettes.map(&:size)
    assert_equal 1, recorded.values.uniq.size, recorded
    assert_equal 1, cassettes.uniq.size, cassettes
    sent = @server.requests.size
    %w[never before after never].each_cons(2) do |recorder, player|
      assert_equal recorded[recorder], run_program(player, "play", recorder), "recorded #{recorder}, played #{player}"
    end
    assert_equal sent, @server.requests.size
  end

  private

  def interactions(recorder)
    recorded = YAML.load_file(File.join(@folder, recorder, "calls.yml"))["http_interactions"]
    recorded.map { |one| one.except("recorded_at") }
  end

  def run_program(installed, mode, recorder = installed)
    command = [RbConfig.ruby, "-I", Subprocess::LIB, "-e", PROGRAM, installed, mode, File.join(@folder, recorder),
               @server.url("")]
    out, err, status = Subprocess.run_command({}, command)
    assert_predicate status, :success?, err
    JSON.parse(out)
  end
end
