# frozen_string_literal: true

require_relative "support"
require "tmpdir"

# Digest and other challenges, netrc, cookie files.
class TestTyphoeusCredentials < TyphoeusTest
  DIGEST = 'Digest realm="r", qop="auth", nonce="n"'
  BASIC = 'Basic realm="r"'
  LOGIN = { userpwd: "robin:secret" }.freeze
  SENT_BASIC = "Basic #{["robin:secret"].pack("m0")}".freeze

  CALL_STYLES = {
    run: :run.to_proc,
    hydra: lambda do |made|
      hydra = Typhoeus::Hydra.new
      hydra.queue(made)
      hydra.run
      made.response
    end,
    streamed: lambda do |made|
      pieces = []
      made.on_body { |piece| pieces << piece }
      made.run
      made.response.tap { |response| response.options[:response_body] = pieces.join }
    end
  }.freeze

  def self.all_ways(name, &body)
    CALL_STYLES.each { |way, run| define_method(:"test_#{name}_by_#{way}") { instance_exec(run, &body) } }
  end

  # Responds with 401 to a request without Authorization, and with 200 when `accepted` matches.
  def serve_challenge(challenge, accepted)
    serve do |connection|
      while (got = connection.read_request)
        connection << (accepted.match?(got["Authorization"].to_s) ? response_bytes("in") : refusal(challenge))
      end
    end
  end

  def refusal(challenge) = response_bytes("out", status: "401 Unauthorized", "WWW-Authenticate" => challenge)

  def authorizations(server) = server.requests.map { |got| got["Authorization"] }

  all_ways(:digest) do |run|
    server = serve_challenge(DIGEST, /\ADigest username="robin"/)
    response = run.call(request(server.url, httpauth: :digest, **LOGIN))
    assert_equal [200, "in", 0], [response.code, response.body, response.redirect_count]
    assert_equal [nil, true], [authorizations(server).first, authorizations(server).last.start_with?("Digest ")]
    assert_equal 2, server.requests.size
  end

  all_ways(:a_refusal_is_a_response) do |run|
    server = serve(refusal(DIGEST))
    response = run.call(request(server.url, httpauth: :digest, **LOGIN))
    assert_equal [401, "out", :ok], [response.code, response.body, response.return_code]
    assert_equal 2, server.requests.size
  end

  def test_the_nonce_serves_further_requests
    server = serve_challenge(DIGEST, /\ADigest/)
    3.times { request(server.url, httpauth: :digest, **LOGIN).run }
    assert_equal 4, server.requests.size
  end

  def test_httpauth_any_uses_the_scheme_of_the_challenge
    { DIGEST => /\ADigest/, BASIC => /\ABasic/, "#{BASIC}, #{DIGEST}" => /\ADigest/ }.each do |challenge, accepted|
      server = serve_challenge(challenge, accepted)
      assert_equal 200, request(server.url, httpauth: :any, **LOGIN).run.code, challenge
      assert_nil authorizations(server).first
    end
    assert_equal 401, request(serve(refusal(BASIC)).url, httpauth: :anysafe, **LOGIN).run.code
    assert_equal 200, request(serve_challenge(BASIC, /\ABasic/).url, httpauth: %i[basic digest ntlm], **LOGIN).run.code
  end

  def test_a_wrong_password_is_sent_once
    server = serve(refusal(BASIC))
    assert_equal 401, request(server.url, httpauth: :any, **LOGIN).run.code
    assert_equal [nil, SENT_BASIC], authorizations(server)
  end

  def test_a_login_in_the_url
    server = serve_challenge(DIGEST, /\ADigest username="ann"/)
    assert_equal 200, request(server.url.sub("//", "//ann:x@"), httpauth: :digest).run.code
  end

  def test_a_form_is_sent_again
    server = serve_challenge(DIGEST, /\ADigest/)
    assert_equal 200, request(server.url, method: :post, body: { a: 1 }, httpauth: :digest, **LOGIN).run.code
    assert_equal %w[a=1 a=1], server.requests.map(&:body)
  end

  def test_netrc
    Tempfile.create("netrc") do |file|
      file.write("machine 127.0.0.1 login robin password secret")
      file.flush
      server = serve
      request(server.url, netrc: :optional, netrc_file: file.path).run
      request(server.url, netrc: :optional, netrc_file: file.path, userpwd: "a:b").run
      request(server.url, netrc: :required, netrc_file: file.path, userpwd: "a:b").run
      request(server.url, netrc: :ignored, netrc_file: file.path).run
      assert_equal [SENT_BASIC, "Basic #{["a:b"].pack("m0")}", SENT_BASIC, nil], authorizations(server)
    end
  end

  def test_credentials_after_a_redirect_to_another_server
    elsewhere = serve
    server = serve(redirect(elsewhere.url))
    request(server.url, followlocation: true, **LOGIN).run
    request(server.url, followlocation: true, unrestricted_auth: true, **LOGIN).run
    assert_equal [nil, SENT_BASIC], authorizations(elsewhere)
  end

  # ---- cookies ----

  def in_folder(&block) = Dir.mktmpdir(&block)

  # Responds with the request's Cookie; sets a cookie on /set, redirects from /from to /to.
  def baker
    serve do |connection|
      while (got = connection.read_request)
        fields = { "Set-Cookie" => "#{got.target.delete("/")}=1; Path=/" }
        connection << (got.target == "/from" ? redirect("/to", **fields) : response_bytes(got["Cookie"].to_s, **fields))
      end
    end
  end

  all_ways(:cookies_are_stored_in_a_file) do |run|
    in_folder do |folder|
      jar = File.join(folder, "cookies.txt")
      server = baker
      run.call(request("#{server.url}set", cookiejar: jar))
      assert_match(%r{^127\.0\.0\.1\tFALSE\t/\tFALSE\t0\tset\t1$}, File.read(jar))
      assert_equal 0o600, File.stat(jar).mode & 0o777
      response = run.call(request("#{server.url}next", cookiefile: jar, cookiejar: jar))
      assert_equal "set=1", response.body
      last = run.call(request("#{server.url}x", cookiefile: jar))
      assert_equal %w[next=1 set=1], last.body.split("; ").sort
      assert_equal ["cookies.txt"], Dir.children(folder)
    end
  end

  all_ways(:cookies_of_redirects) do |run|
    server = baker
    response = run.call(request("#{server.url}from", cookiefile: "", cookie: "own=1", followlocation: true))
    assert_equal "from=1; own=1", response.body
    assert_equal "own=1", server.requests.first["Cookie"]
  end

  def test_cookies_are_not_sent_to_another_host
    other = baker
    server = serve(redirect(other.url(host: "localhost"), "Set-Cookie" => "a=1"))
    response = request(server.url, cookiefile: "", cookie: "own=1", followlocation: true).run
    assert_equal "", response.body
  end

  def test_files_of_others
    in_folder do |folder|
      file = File.join(folder, "cookies.txt")
      File.write(file, "# Netscape HTTP Cookie File\n\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t1\n" \
                       "127.0.0.1\tFALSE\t/\tFALSE\t#{Time.now.to_i + 999}\tlasting\t2\n" \
                       "127.0.0.1\tFALSE\t/\tFALSE\t1\told\t3\n127.0.0.1\tFALSE\t/deep\tFALSE\t0\tdeep\t4\n")
      server = baker
      assert_equal "lasting=2; session=1", request(server.url, cookiefile: file).run.body.split("; ").sort.join("; ")
      assert_equal "lasting=2", request(server.url, cookiefile: file, cookiesession: true).run.body
    end
  end

  def test_cookies_by_lines
    server = baker
    lines = ["127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1", "Set-Cookie: b=2; domain=127.0.0.1", "ALL"]
    assert_equal "a=1; b=2", request(server.url, cookielist: lines).run.body
  end

  def test_requests_without_a_file_share_no_cookies
    server = baker
    2.times { assert_equal "", request("#{server.url}set", cookiefile: "").run.body }
  end

  def test_a_cookie_jar_that_cannot_be_written_causes_a_warning
    _, words = capture_io { assert_equal 200, request(baker.url, cookiejar: "/nowhere/jar").run.code }
    assert_match(%r{cookiejar /nowhere/jar: }, words)
  end

  def test_cookies_and_challenges_together
    server = serve do |connection|
      while (got = connection.read_request)
        fields = { "Set-Cookie" => "seen=1", "WWW-Authenticate" => DIGEST }
        ready = got["Authorization"] && got["Cookie"]
        connection << response_bytes(got["Cookie"].to_s, status: ready ? "200 OK" : "401 Unauthorized", **fields)
      end
    end
    response = request(server.url, httpauth: :digest, cookiefile: "", **LOGIN).run
    assert_equal [200, "seen=1"], [response.code, response.body]
  end

  def test_a_missing_http_cookie_gem_is_named
    code = <<~RUBY
      require "trunkline/typhoeus"
      module Kernel
        alias_method :required, :require
        def require(name) = name == "http-cookie" ? raise(LoadError, name) : required(name)
      end
      begin
        Typhoeus.get("http://127.0.0.1:1", cookiefile: "")
      rescue Typhoeus::Errors::InvalidOption => error
        puts error.message
      end
    RUBY
    result = Subprocess.run(code)
    assert_match(/http-cookie/, result.out, result.err)
  end
end
