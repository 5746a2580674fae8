# frozen_string_literal: true

require_relative "test_helper"

# A process without a locale, as in many containers: Ruby tags text from files and from the environment as US-ASCII,
# whatever its bytes are.
class TestLocale < TrunklineTest
  ENVIRONMENT = { "LC_ALL" => "C", "LANG" => "C", "RUBYOPT" => nil, "http_proxy" => "http://127.0.0.1:9",
                  "no_proxy" => "b\u00fccher.test, localhost" }.freeze
  # JRuby uses UTF-8 in any locale.
  PRELUDE = <<~'RUBY'
    expected = RUBY_ENGINE == "jruby" ? Encoding::UTF_8 : Encoding::US_ASCII
    raise "the locale is #{Encoding.default_external}" unless Encoding.default_external == expected

    url, folder = URL, FOLDER
  RUBY

  def test_calls
    Dir.mktmpdir do |folder|
      body = '{"a":"é"}'
      server = serve do |connection|
        connection << response_bytes(body, "Set-Cookie" => "a=\xE9".b) while connection.read_request
      end
      File.binwrite("#{folder}/netrc", "# Z\xFCrich\nmachine localhost login \xC3\xBC password \xE9\n".b)
      assert_equal ["200", "true", body.bytesize.to_s], printed(folder, server.url(host: "localhost"), <<~'RUBY')
        http = Trunkline.new(url, timeout: 10, cookies: true, netrc: "#{folder}/netrc")
        response = http.post("/\u00e9", params: { "\u00fc" => "\u00f6" }, json: { a: "\u00e9" })
        puts response.status, response.json == { "a" => "\u00e9" }
        Trunkline.record("#{folder}/calls.har") { http.get("/\u00e9", headers: { "X-A" => "\u00e9" }) }
        puts http.download("/", to: "#{folder}/body").bytes
      RUBY
      assert_equal "Basic #{["\xC3\xBC:\xE9".b].pack("m0")}", server.requests.first["Authorization"]
      assert_equal "a=\xE9".b, server.requests.last["Cookie"].b
      assert_equal 1, JSON.parse(File.read("#{folder}/calls.har", encoding: "UTF-8"))["log"]["entries"].size
    end
  end

  # The comments are in two encodings.
  def test_comments_of_certificates
    Dir.mktmpdir do |folder|
      server = serve_tls(context: { client_ca: true }) { |one| one << response_bytes while one.read_request }
      client = TestCA.identity(:client)
      File.binwrite("#{folder}/authorities.pem", "# \xC5\x91r\n".b + File.binread(TestCA.ca_file))
      File.binwrite("#{folder}/identity.pem",
                    "# Z\xFCrich\n".b + [client.key, client.certificate, *client.issuers].map(&:to_pem).join)
      assert_equal ["200"], printed(folder, server.url, <<~'RUBY')
        puts Trunkline.new(url, timeout: 10, ca_file: "#{folder}/authorities.pem",
                                client_cert: "#{folder}/identity.pem").get("/").status
      RUBY
    end
  end

  private

  # @return [Array<String>] the lines of output
  def printed(folder, url, code)
    program = PRELUDE.sub("URL", url.dump).sub("FOLDER", folder.dump) + code
    result = Subprocess.run(program, ENVIRONMENT)
    assert_empty result.err
    result.out.lines(chomp: true)
  end
end
