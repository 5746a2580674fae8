# frozen_string_literal: true

require_relative "test_helper"

# The options and methods of a client, and the requests that the server receives.
class TestClient < TrunklineTest
  stressable

  VERBS = %i[get head post put patch delete options trace].freeze

  def setup
    super
    @server = serve
  end

  VERBS.each do |verb|
    define_method(:"test_#{verb}_sends_its_method") do
      response = client(@server.url).public_send(verb, "/path")
      assert_equal 200, response.status
      assert_equal verb.to_s.upcase, request.verb
      assert_equal "/path", request.target
    end
  end

  def test_request_sends_any_method
    client(@server.url).request("PROPFIND", "/")
    client(@server.url).request(:get, "/")
    assert_equal %w[PROPFIND GET], @server.requests.map(&:verb)
  end

  def test_an_absolute_url_needs_no_base
    assert_equal "ok", client.get(@server.url("/whole")).body
    assert_equal "/whole", request.target
  end

  def test_a_path_is_joined_to_the_base
    http = client(@server.url("/v1/"))
    http.get("items")
    http.get("/root")
    assert_equal %w[/v1/items /root], @server.requests.map(&:target)
  end

  def test_a_url_of_another_host_overrides_the_base
    other = serve(response_bytes("other"))
    assert_equal "other", client(@server.url).get(other.url).body
  end

  def test_host_names_host_and_port
    client.get(@server.url)
    assert_equal "127.0.0.1:#{@server.port}", request["Host"]
    assert_equal 1, request.headers.count { |name, _| name.casecmp?("host") }
  end

  def test_an_empty_path_becomes_a_slash
    client.get(@server.url("?q=1"))
    assert_equal "/?q=1", request.target
  end

  def test_a_fragment_stays_here
    client.get(@server.url("/page#part"))
    assert_equal "/page", request.target
  end

  def test_params_are_appended_and_escaped
    client.get(@server.url("/find?a=1"), params: { "q" => "grün & co", n: 2, list: [1, 2] })
    query = request.target.split("?", 2).last
    pairs = URI.decode_www_form(query)
    assert_equal %w[a 1], pairs.first
    assert_includes pairs, ["q", "grün & co"]
    assert_includes pairs, %w[n 2]
    assert_match(/\A[!-~]+\z/, request.target)
  end

  def test_headers_are_sent_as_given
    client.get(@server.url, headers: { "X-Name" => "value", "X-Twice" => %w[one two], x_symbol: 3 })
    assert_equal "value", request["X-Name"]
    assert_equal(%w[one two], request.headers.filter_map { |name, value| value if name == "X-Twice" })
  end

  def test_headers_of_a_call_replace_those_of_the_client
    http = client(@server.url, headers: { "X-Both" => "client", "X-Client" => "1" })
    http.get("/", headers: { "x-both" => "call" })
    assert_equal "call", request["X-Both"]
    assert_equal "1", request["X-Client"]
    assert_equal 1, request.headers.count { |name, _| name.casecmp?("x-both") }
  end

  def test_bearer_sets_authorization
    client.get(@server.url, bearer: "token-1")
    assert_equal "Bearer token-1", request["Authorization"]
  end

  def test_basic_sets_authorization
    client.get(@server.url, basic: ["user", "pass:word"])
    assert_equal "Basic #{["user:pass:word"].pack("m0")}", request["Authorization"]
  end

  def test_accept_encoding_is_sent_by_itself
    client.get(@server.url)
    assert_includes request["Accept-Encoding"], "gzip"
  end

  def test_no_expectation_is_added
    client.post(@server.url, body: "x" * 2_000_000)
    assert_nil request["Expect"]
  end

  def test_a_get_has_no_content_length_and_a_post_without_body_has_zero
    http = client(@server.url)
    http.get("/")
    http.post("/")
    assert_nil @server.requests[0]["Content-Length"]
    assert_equal "0", @server.requests[1]["Content-Length"]
  end

  def test_the_module_has_the_verbs
    (VERBS - %i[head]).each do |verb|
      assert_equal "ok", Trunkline.public_send(verb, @server.url, timeout: 5).body
    end
    assert_equal 200, Trunkline.head(@server.url, timeout: 5).status
  end

  def test_a_timeout_is_required
    error = assert_raises(Trunkline::MissingTimeout) { Trunkline.get(@server.url) }
    assert_kind_of ArgumentError, error
    assert_match(/timeout/, error.message)
    assert_raises(Trunkline::MissingTimeout) { Trunkline.new(@server.url) }
    assert_empty @server.requests
  end

  # Runs in a separate process: the configuration stays for the life of the process.
  def test_configure_sets_the_defaults
    result = Subprocess.run(<<~RUBY)
      Trunkline.configure { |defaults| defaults.timeout = 5; defaults.headers = { "X-Default" => "1" } }
      puts Trunkline.get("#{@server.url}").body, Trunkline.new("#{@server.url}").get("/").body
    RUBY
    assert_equal "ok\nok\n", result.out, result.err
    assert_equal %w[1 1], @server.requests.map { |seen| seen["X-Default"] }
  end

  def test_a_timeout_of_a_call_overrides_the_clients
    slow = serve { |connection| connection.read_request && connection.stall }
    seconds, = raised_after(Trunkline::TimeoutError) { client(slow.url, timeout: 5).get("/", timeout: 0.2) }
    assert_took 0.2, seconds
  end

  def test_with_makes_a_changed_client_that_shares_the_pool
    http = client(@server.url, headers: { "X-A" => "1" })
    changed = opened(http.with(headers: { "X-B" => "2" }))
    first = http.get("/")
    second = changed.get("/")
    assert_same_connection first, second
    assert_nil @server.requests[0]["X-B"]
    assert_equal "2", @server.requests[1]["X-B"]
  end

  def test_with_leaves_the_original_unchanged
    http = client(@server.url)
    opened(http.with(bearer: "secret")).get("/")
    http.get("/")
    assert_nil @server.requests.last["Authorization"]
  end

  def test_a_client_is_frozen_against_its_own_options
    headers = { "X-A" => +"1" }
    http = client(@server.url, headers: headers)
    headers["X-A"] << "23"
    headers["X-Late"] = "late"
    http.get("/")
    assert_equal "1", request["X-A"]
    assert_nil request["X-Late"]
  end

  def test_calls_reuse_the_connection
    http = client(@server.url)
    first, second = Array.new(2) { http.get("/") }
    refute_predicate first.connection, :reused?
    assert_same_connection first, second
    assert_equal 1, @server.connection_count
  end

  def test_stats_count_requests_and_connections
    http = client(@server.url, max_idle: 5) # so the client has a separate pool
    3.times { http.get("/") }
    stats = http.stats
    assert_equal [1, 1, 0, 0], stats.values_at(:connections, :idle, :in_use, :waiting)
    assert_equal [1, 2, 3, 0], stats.values_at(:opened, :reused, :taken, :closed)
    http.get("/", headers: { "Connection" => "close" })
    assert_equal [0, 1], http.stats.values_at(:connections, :closed)
  end

  def test_close_closes_the_idle_connections
    http = client(@server.url)
    http.get("/")
    refute_predicate http, :closed?
    http.close
    assert_predicate http, :closed?
    assert_equal :eof, @server.ended
  end

  def test_close_closes_a_connection_in_use_when_it_comes_back
    http, other = Array.new(2) { client(@server.url) }
    response = http.get("/", stream: true)
    other.get("/")
    http.close
    response.body
    assert_equal [:eof, nil], [@server.ended, @server.connections[1].ended], "only its own"
  end

  def test_close_twice_is_harmless
    http = client(@server.url)
    2.times { http.close }
    assert_predicate http, :closed?
  end

  def test_a_closed_client_refuses_calls
    http = client(@server.url)
    http.close
    assert_raises(Trunkline::ClosedError) { http.get("/") }
    assert_empty @server.requests
  end

  def test_inspect_hides_credentials
    http = client(@server.url, bearer: "geheim", headers: { "X-Api-Key" => "geheim" }, basic: nil)
    refute_includes http.inspect, "geheim"
  end

  def test_real_server
    response = client.get(Nginx.url("/page"))
    assert_equal Nginx::PAGE, response.body
  end

  def test_many_threads_share_a_client
    echo = serve { |connection| loop { connection << response_bytes((connection.read_request or break).target) } }
    http = client(echo.url)
    threads = Array.new(8) do |number|
      Thread.new { Array.new(50) { |call| ["/#{number}/#{call}", http.get("/#{number}/#{call}").body] } }
    end
    threads.flat_map(&:value).each { |expected, body| assert_equal expected, body }
    assert_operator echo.connection_count, :<=, 8
  end

  private

  def request = @server.requests.last
end
