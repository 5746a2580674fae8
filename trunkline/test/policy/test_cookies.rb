# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"
require "tmpdir"

# The option cookies: over sockets. The rules of which cookies are kept and sent are tested in unit/test_cookie_jar.rb.
class TestCookies < TrunklineTest
  def jar = @jar ||= Trunkline::CookieJar.new

  # The Cookie field of each request, in the order of arrival.
  def sent(server) = server.requests.map { |request| request["Cookie"] }

  # Responds by path; the default response is "ok".
  def serving(responses = {})
    serve do |connection|
      while (request = connection.read_request)
        given = responses.fetch(request.target, response_bytes)
        connection << (given.respond_to?(:call) ? given.call(request) : given)
      end
    end
  end

  def login = { "/login" => response_bytes("in", "Set-Cookie" => "sid=1; Path=/") }

  def test_a_cookie_is_stored_and_sent
    server = serving(login)
    http = client(server.url, cookies: true)
    %w[/login / /login].each { |path| http.get(path) }
    assert_equal [nil, "sid=1", "sid=1"], sent(server)
  end

  def test_without_the_option_none_is
    server = serving(login)
    http = client(server.url)
    2.times { http.get("/login") }
    off = client(server.url, cookies: jar)
    off.get("/login")
    off.get("/", cookies: false)
    assert_equal [nil] * 4, sent(server)
  end

  def test_each_client_with_true_has_its_own_jar
    server = serving(login)
    first = client(server.url, cookies: true)
    first.get("/login")
    client(server.url, cookies: true).get("/")
    first.with(timeout: 3).get("/")
    assert_equal [nil, nil, "sid=1"], sent(server)
  end

  def test_a_given_jar_is_shared_by_calls
    server = serving(login)
    client(server.url).get("/login", cookies: jar)
    client(server.url, cookies: jar).get("/")
    assert_equal [nil, "sid=1"], sent(server)
    assert_equal "sid=1", jar.header(server.url)
  end

  def test_several_set_cookie_fields_of_a_response
    server = serve("HTTP/1.1 200 OK\r\nSet-Cookie: a=1, x\r\nset-cookie: b=2\r\nContent-Length: 0\r\n\r\n")
    http = client(server.url, cookies: true)
    2.times { http.get("/") }
    assert_equal [nil, "a=1, x; b=2"], sent(server)
  end

  def test_a_redirect_sets_what_the_next_request_has
    server = serving("/" => redirect("/home", "Set-Cookie" => "sid=1"),
                     "/home" => redirect("/end", "Set-Cookie" => "x=2"))
    response = client(server.url, cookies: true, follow: true).get("/")
    assert_equal 2, response.redirects.size
    assert_equal [nil, "sid=1", "sid=1; x=2"], sent(server)
  end

  def test_a_redirect_sends_no_cookies_to_another_host
    other = serving("/there" => response_bytes("", "Set-Cookie" => "theirs=1; Path=/"))
    server = serving("/" => redirect("http://localhost:#{other.port}/there", "Set-Cookie" => "ours=1"))
    http = client(server.url, cookies: jar, follow: true, connect_to: { "localhost" => "127.0.0.1" })
    2.times { http.get("/", headers: { "Cookie" => "own=0" }) }
    assert_equal ["own=0", "own=0; ours=1"], sent(server)
    assert_equal [nil, "theirs=1"], sent(other)
  end

  def test_a_secure_cookie_is_not_sent_without_tls
    plain = serving
    server = serve_tls do |connection|
      bytes = redirect("http://localhost:#{plain.port}/", "Set-Cookie" => "s=1; Secure", "set-cookie" => "c=2")
      connection << bytes while connection.read_request
    end
    http = secure_client(cookies: jar, follow: true, connect_to: { "localhost" => "127.0.0.1" })
    http.get("https://localhost:#{server.port}/")
    assert_equal ["c=2"], sent(plain)
    assert_equal "s=1; c=2", jar.header("https://localhost/")
  end

  def test_an_explicit_cookie_header_takes_precedence
    server = serving
    jar.set(server.url, "a=jar")
    jar.set(server.url, "b=jar")
    http = client(server.url, cookies: jar)
    http.get("/", headers: { "Cookie" => "a=own; c=own" })
    http.get("/", headers: { "Cookie" => "a=own; b=own" })
    number = 0
    2.times { http.get("/", headers: { "Cookie" => -> { "n=#{number += 1}" } }) }
    assert_equal ["a=own; c=own; b=jar", "a=own; b=own"], sent(server).first(2)
    computed = server.raw_requests.last(2).map { |raw| raw.scan(/^Cookie: (.+)\r$/).flatten }
    assert_equal [["a=jar; b=jar", "n=1"], ["a=jar; b=jar", "n=2"]], computed
  end

  def test_challenges_set_cookies_and_signers_see_them
    server = serve do |connection|
      while (request = connection.read_request)
        challenge = response_bytes("", status: "401 Unauthorized", "WWW-Authenticate" => 'Digest realm="r", nonce="n"',
                                       "Set-Cookie" => "step=1")
        connection << (request["Authorization"] ? response_bytes : challenge)
      end
    end
    http = client(server.url, cookies: jar, digest: %w[robin secret])
    http.get("/")
    assert_equal "step=1", jar.header(server.url)
    signer = Struct.new(:seen) { def sign(request) = (seen << request.headers["Cookie"]) && nil }.new([])
    signer.define_singleton_method(:retry?) { |_| false }
    client(server.url, cookies: jar, auth: signer).get("/")
    assert_equal ["step=1"], signer.seen
  end

  def test_a_body_and_its_type_stay
    server = serving
    jar.set(server.url, "a=1")
    http = client(server.url, cookies: jar)
    http.post("/", json: { a: 1 })
    http.post("/", body: StringIO.new("text"))
    assert_equal [["a=1", '{"a":1}', "application/json"], ["a=1", "text", nil]],
                 server.requests.map { |request| [request["Cookie"], request.body, request["Content-Type"]] }
  end

  def test_a_streamed_response_sets_cookies
    server = serving(login)
    http = client(server.url, cookies: jar)
    chunks = []
    http.get("/login") { |chunk| chunks << chunk }
    assert_equal [["in"], "sid=1"], [chunks, jar.header(server.url)]
  end

  def test_invalid_cookies_are_ignored
    server = serve("HTTP/1.1 200 OK\r\nSet-Cookie: \xFF\r\nSet-Cookie: a=1; Domain=other.test\r\nSet-Cookie: ;;\r\n" \
                   "Set-Cookie: b=1; Domain=\xFF\xFE\r\nSet-Cookie: c\"d=1\r\nContent-Length: 0\r\n\r\n".b)
    assert_equal 200, client(server.url, cookies: jar).get("/").status
    assert_empty jar
  end

  def test_many_at_once
    server = serving(login)
    http = client(server.url, cookies: jar, max_connections_per_host: 8)
    http.get("/login")
    paths = (1..10).map { |number| "/#{number}" }
    http.batch { |batch| paths.each { |path| batch.get(path) } }
    http.map(paths, concurrency: 3)
    http.each(paths) { |_path, _result| nil }
    paths.map { |path| http.async.get(path) }.each(&:value!)
    Async { paths.map { |path| Async { http.get(path) } }.each(&:wait) }.wait
    paths.map { |path| Thread.new { http.get(path) } }.each(&:join)
    assert_equal [nil] + ["sid=1"] * 60, sent(server)
  end

  def test_threads_share_a_jar
    count = 0
    server = serve do |connection|
      while (request = connection.read_request)
        connection << response_bytes("", "Set-Cookie" => "c#{request.target[1..]}=#{count += 1}; Path=/")
      end
    end
    http = client(server.url, cookies: jar)
    Array.new(4) { |thread| Thread.new { 25.times { http.get("/#{thread}") } } }.each(&:join)
    assert_equal %w[c0 c1 c2 c3], jar.cookies.map(&:name).sort
    assert_equal 100, server.requests.size
  end

  def test_a_session_is_restored_from_a_file
    server = serving(login)
    Dir.mktmpdir do |folder|
      client(server.url, cookies: jar).get("/login")
      jar.save("#{folder}/jar")
      client(server.url, cookies: Trunkline::CookieJar.load("#{folder}/jar")).get("/")
    end
    assert_equal [nil, "sid=1"], sent(server)
  end

  def test_a_value_that_is_no_jar_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { client(cookies: "sid=1") }
    assert_match(/\Acookies: must be true, a Trunkline::CookieJar, or false; .* headers: .*, got /, error.message)
    refute_includes error.message, "sid=1"
  end
end
