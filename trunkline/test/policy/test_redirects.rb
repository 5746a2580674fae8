# frozen_string_literal: true

require_relative "../test_helper"

# Redirects are followed if the option follow: is set, by the rules of RFC 9110, and never with credentials of another
# origin.
class TestRedirects < TrunklineTest
  stressable

  # status => { method sent => method of the next request }
  METHODS = {
    301 => { get: "GET", head: "HEAD", post: "GET", put: "PUT", delete: "DELETE" },
    302 => { get: "GET", head: "HEAD", post: "GET", put: "PUT", delete: "DELETE" },
    303 => { get: "GET", head: "HEAD", post: "GET", put: "GET", delete: "GET" },
    307 => { get: "GET", head: "HEAD", post: "POST", put: "PUT", delete: "DELETE" },
    308 => { get: "GET", head: "HEAD", post: "POST", put: "PUT", delete: "DELETE" }
  }.freeze

  SECRETS = {
    "Authorization" => "Bearer secret", "Cookie" => "id=secret", "Proxy-Authorization" => "Basic secret",
    "X-Api-Key" => "secret", "X-Own-Token" => "secret"
  }.freeze

  def test_not_followed_by_default
    server = serve_routes("/" => redirect("/next"))
    response = client(server.url).get("/")
    assert_equal [302, "/next"], [response.status, response["Location"]]
    assert_equal 1, server.requests.size
  end

  METHODS.each do |status, methods|
    methods.each do |verb, expected|
      define_method(:"test_#{status}_of_#{verb}_becomes_#{expected.downcase}") do
        server = serve_routes("/" => redirect("/next", status: "#{status} X"))
        body = %i[post put].include?(verb) ? { body: "payload", headers: { "Content-Type" => "text/plain" } } : {}
        response = client(server.url, follow: 5).public_send(verb, "/", **body)
        assert_equal 200, response.status
        last = server.requests.last
        assert_equal [expected, "/next"], [last.verb, last.target]
        assert_equal %w[POST PUT].include?(expected) ? "payload" : "", last.body
        assert_nil last["Content-Type"] unless %w[POST PUT].include?(expected)
      end
    end
  end

  def test_a_response_lists_its_redirects
    server = serve_routes("/" => redirect("/a"), "/a" => redirect("b?x=1"), "/b?x=1" => response_bytes("end"))
    response = client(server.url, follow: 5).get("/")
    assert_equal "end", response.body
    assert_equal server.url("/b?x=1"), response.url.to_s
    assert_equal 2, response.redirects.size
  end

  def test_other_statuses_are_not_followed
    { "300 Choices" => 300, "304 Not Modified" => 304, "305 Use Proxy" => 305,
      "201 Created" => 201 }.each do |line, status|
      server = serve_routes("/" => redirect("/next", status: line))
      assert_equal status, client(server.url, follow: 5).get("/").status
    end
  end

  def test_a_redirect_without_location_is_the_response
    server = serve(response_bytes("here", status: "302 Found"))
    assert_equal "here", client(server.url, follow: 5).get("/").body
  end

  { "/root" => "/root", "beside" => "/dir/beside", "../up" => "/up", "?q=2" => "/dir/page?q=2", "." => "/dir/",
    "/a b" => "/a%20b", "/ü" => "/%C3%BC" }.each do |location, target|
    define_method(:"test_location_#{location.inspect}") do
      server = serve { |connection| respond_first_with(connection, redirect(location)) }
      client(server.url, follow: 1).get("/dir/page?q=1")
      assert_equal target, server.requests[1].target
    end
  end

  def test_a_location_that_differs_only_by_its_fragment_is_a_loop
    server = serve(redirect("#part"))
    assert_raises(Trunkline::RedirectLoop) { client(server.url, follow: 1).get("/dir/page?q=1") }
    assert_equal 1, server.requests.size
  end

  def test_an_absolute_location_and_one_without_scheme
    other = serve(response_bytes("other"))
    [other.url("/x"), "//127.0.0.1:#{other.port}/x"].each do |location|
      assert_equal "other", client(serve_routes("/" => redirect(location)).url, follow: 1).get("/").body
    end
  end

  def test_too_many
    server = serve { |connection| (connection << redirect("/#{rand}")) while connection.read_request }
    error = assert_raises_with(Trunkline::TooManyRedirects, sent: :all) { client(server.url, follow: 3).get("/") }
    assert_equal 4, server.requests.size
    assert_match(/3/, error.message)
  end

  def test_exactly_as_many_as_allowed
    server = serve_routes("/" => redirect("/1"), "/1" => redirect("/2"), "/2" => response_bytes("end"))
    assert_equal "end", client(server.url, follow: 2).get("/").body
  end

  def test_a_loop
    server = serve_routes("/" => redirect("/a"), "/a" => redirect("/b"), "/b" => redirect("/a"))
    assert_raises(Trunkline::RedirectLoop) { client(server.url, follow: 10).get("/") }
    assert_operator server.requests.size, :<=, 4
  end

  def test_elapsed_spans_all_of_them
    server = serve { |connection| redirect_slowly(connection) while connection.read_request }
    [{}, { stream: true }].each do |options|
      error = assert_raises(Trunkline::TooManyRedirects) { client(server.url, follow: 2).get("/", **options) }
      assert_operator error.elapsed, :>, 0.25
      assert_equal 302, error.response.status
    end
    error = client(server.url, follow: 2).map(["/"]).first
    assert_kind_of Trunkline::TooManyRedirects, error
    assert_operator error.elapsed, :>, 0.25
  end

  def test_other_schemes_are_refused
    %w[ftp://127.0.0.1/x file:///etc/passwd gopher://x/ javascript:alert(1) data:text/plain,x].each do |location|
      server = serve_routes("/" => redirect(location))
      error = assert_raises(Trunkline::UnsafeRedirect) { client(server.url, follow: 5).get("/") }
      assert_includes error.message, location[/\A\w+/]
    end
  end

  def test_a_location_that_is_no_url
    ["http://", "http://[::1", "http:///x", "http://a b/", "http://host:99999/"].each do |location|
      server = serve_routes("/" => redirect(location))
      assert_raises(Trunkline::RedirectError) { client(server.url, follow: 5).get("/") }
    end
  end

  def test_https_to_http_with_credentials_is_refused
    plain = serve
    secure = serve_tls(redirect(plain.url))
    assert_raises(Trunkline::UnsafeRedirect) { secure_client(secure.url, follow: 5, bearer: "secret").get("/") }
    assert_empty plain.requests
  end

  # The ways of making a call, for one call and for many.
  CALL_STYLES = {
    call: ->(http, options) { http.post("/", options) },
    map: ->(http, options) { http.map([[:post, "/", options]]).first.tap { |one| raise one if one.is_a?(Exception) } },
    batch: lambda do |http, options|
      http.batch { |all| all.post("/", options) }.first.tap { |result| raise result if result.is_a?(Exception) }
    end,
    async: ->(http, options) { http.async.post("/", options).value! }
  }.freeze

  CALL_STYLES.each do |name, way|
    define_method(:"test_a_body_is_not_sent_again_from_https_to_http_by_#{name}") do
      plain = serve
      [307, 308].each do |status|
        secure = serve_tls(redirect(plain.url, status: "#{status} X"))
        http = secure_client(secure.url, follow: 5)
        error = assert_raises_with(Trunkline::UnsafeRedirect, sent: :all) { way.call(http, body: "private") }
        assert_includes error.message, "redirect_body_to_http: true"
        assert_equal status, error.response.status
      end
      assert_empty plain.requests
    end

    define_method(:"test_redirect_body_to_http_repeats_the_body_by_#{name}") do
      plain = serve
      secure = serve_tls(redirect(plain.url, status: "307 X"))
      http = secure_client(secure.url, follow: 5)
      assert_equal 200, way.call(http, body: "private", redirect_body_to_http: true).status
      assert_equal ["private"], plain.requests.map(&:body)
    end
  end

  def test_redirect_body_to_http_does_not_permit_credentials
    plain = serve
    secure = serve_tls(redirect(plain.url, status: "307 X"))
    http = secure_client(secure.url, follow: 5, bearer: "secret", redirect_body_to_http: true)
    assert_raises(Trunkline::UnsafeRedirect) { http.post("/", body: "private") }
    assert_empty plain.requests
  end

  def test_from_https_to_http_without_a_body
    plain = serve
    { post: "302 X", put: "303 X", get: "307 X", delete: "308 X" }.each do |verb, status|
      secure = serve_tls(redirect(plain.url, status: status))
      options = %i[post put].include?(verb) ? { body: "private" } : {}
      assert_equal 200, secure_client(secure.url, follow: 5).public_send(verb, "/", **options).status
    end
    refute_includes plain.raw_requests.join, "private"
  end

  def test_http_to_https_is_followed
    secure = serve_tls(response_bytes("secure"))
    plain = serve(redirect(secure.url))
    assert_equal "secure", secure_client(plain.url, follow: 5).get("/").body
  end

  def test_credentials_stay_at_their_origin
    other = serve
    first = serve(redirect(other.url))
    http = client(follow: 5, credential_headers: ["X-Own-Token"])
    http.get(first.url, headers: SECRETS.merge("X-Plain" => "kept"))
    SECRETS.each_key { |name| assert_nil other.requests.last[name], name }
    refute_includes other.raw_requests.join, "secret"
    assert_equal "kept", other.requests.last["X-Plain"]
  end

  def test_credentials_by_option_stay_at_their_origin
    { bearer: "secret", basic: %w[user secret] }.each do |name, value|
      other = serve
      client(follow: 5).get(serve(redirect(other.url)).url, name => value)
      assert_nil other.requests.last["Authorization"]
    end
  end

  def test_credentials_of_the_client_stay_at_their_origin
    other = serve
    first = serve(redirect(other.url))
    client(first.url, follow: 5, headers: { "X-Api-Key" => "secret" }, bearer: "secret").get("/")
    refute_includes other.raw_requests.join, "secret"
  end

  def test_credentials_are_sent_within_their_origin
    server = serve_routes("/" => redirect("/next"))
    client(server.url, follow: 5, credential_headers: ["X-Own-Token"]).get("/", headers: SECRETS)
    SECRETS.each { |name, value| assert_equal value, server.requests.last[name], name }
  end

  def test_another_port_is_another_origin
    other = serve
    server = serve(redirect("http://127.0.0.1:#{other.port}/"))
    client(server.url, follow: 5, bearer: "secret").get("/")
    assert_nil other.requests.last["Authorization"]
  end

  def test_credentials_do_not_come_back_after_a_detour
    home = nil
    away = serve { |connection| connection.read_request && (connection << redirect(home.url("/back"))) }
    home = serve_routes("/" => redirect(away.url))
    client(home.url, follow: 5, headers: { "X-Api-Key" => "secret" }).get("/")
    back = home.requests.last
    assert_equal "/back", back.target
    assert_nil back["X-Api-Key"]
    refute_includes away.raw_requests.join, "secret"
  end

  # Like browsers: bytes that are not UTF-8 are percent-encoded where possible, and a host name is encoded by IDNA.
  { "/gr\xFCn?\xFF=\xFE" => "/gr%FCn?%FF=%FE", "/gr\xC3\xBCn#\xFF" => "/gr%C3%BCn", "?\xC3\xBC" => "/?%C3%BC",
    "sch\xFCn:x" => "/sch%FCn:x" }.each do |location, target|
    define_method(:"test_location_of_bytes_#{location.dump}") do
      server = serve { |connection| respond_first_with(connection, redirect(location.b)) }
      assert_equal 200, client(server.url, follow: 1).get("/").status
      assert_equal target, server.requests.last.target
    end
  end

  def test_a_name_in_a_location_may_be_international
    target = serve
    server = serve(redirect("http://m\xC3\xBCnchen.test:#{target.port}/".b))
    http = client(server.url, follow: 1, connect_to: { "xn--mnchen-3ya.test:#{target.port}" => target.address })
    assert_equal "http://xn--mnchen-3ya.test:#{target.port}/", http.get("/").url
  end

  def test_a_name_of_bytes_that_are_no_text
    ["http://m\xFCnchen.test/", "//m\xFCnchen.test/", "http://\xC3\xBC\xFF.test/", "http://127.0.0.1:\xFC/",
     "http://\xFF@127.0.0.1/"].each do |location|
      http = client(serve(redirect(location.b)).url, follow: 1)
      [-> { http.get("/") }, -> { raise http.map(["/"]).first }, -> { http.async.get("/").value! }].each do |call|
        error = assert_raises_with(Trunkline::UnsafeRedirect, sent: :all, &call)
        assert_equal [Encoding::UTF_8, true], [error.message.encoding, error.message.valid_encoding?]
      end
    end
  end

  def test_userinfo_in_a_location_is_not_sent
    server = serve { |connection| respond_first_with(connection, redirect("http://user:pass@#{server_name(connection)}/next")) }
    client(server.url, follow: 5).get("/")
    assert_equal %w[/ /next], server.requests.map(&:target)
    assert_nil server.requests.last["Authorization"]
  end

  def test_host_follows_the_redirect
    other = serve
    client(serve(redirect(other.url)).url, follow: 5).get("/")
    assert_equal "127.0.0.1:#{other.port}", other.requests.last["Host"]
  end

  def test_a_body_in_a_redirect_is_read_within_limits
    server = serve_routes("/" => response_bytes("x" * 10_000, status: "302 Found", "Location" => "/next"),
                          "/next" => response_bytes("end"))
    response = client(server.url, follow: 5).get("/")
    assert_equal "end", response.body
    assert_equal 1, server.connection_count
  end

  def test_streaming_starts_with_the_final_response
    server = serve_routes("/" => response_bytes("not this", status: "302 Found", "Location" => "/next"),
                          "/next" => response_bytes("this"))
    chunks = []
    client(server.url, follow: 5).get("/") { |chunk| chunks << chunk }
    assert_equal "this", chunks.join
  end

  private

  # target => bytes; other targets get "ok"
  def serve_routes(routes)
    serve do |connection|
      while (request = connection.read_request)
        connection << routes.fetch(request.target, request.verb == "HEAD" ? response_bytes("") : response_bytes)
      end
    end
  end

  def respond_first_with(connection, bytes)
    connection.read_request
    connection << bytes
    connection << response_bytes while connection.read_request
  end

  def redirect_slowly(connection)
    sleep 0.1
    connection << redirect("/#{connection.requests.size}")
  end

  def server_name(connection) = "127.0.0.1:#{connection.tcp.local_address.ip_port}"
end
