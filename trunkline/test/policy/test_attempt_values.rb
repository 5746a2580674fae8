# frozen_string_literal: true

require_relative "../test_helper"

# Callable values of bearer:, basic: and headers:, which are called for each request that a call sends.
class TestAttemptValues < TrunklineTest
  stressable

  def counter(prefix = "t") = (count = 0) && -> { "#{prefix}#{count += 1}" }

  # The values of a field in all requests.
  def sent(server, name) = server.requests.map { |request| request[name] }

  def test_a_callable_token_is_called_before_each_call
    server = serve
    http = client(server.url, bearer: counter, headers: { "X-Id" => counter("id") })
    2.times { http.get("/") }
    http.post("/", json: { a: 1 })
    assert_equal ["Bearer t1", "Bearer t2", "Bearer t3"], sent(server, "Authorization")
    assert_equal %w[id1 id2 id3], sent(server, "X-Id")
    assert_equal '{"a":1}', server.requests.last.body
  end

  def test_of_a_call
    server = serve
    http = client(server.url)
    http.get("/", bearer: counter, headers: { x_id: counter("id") })
    http.get("/", headers: [["X-Id", counter("id")]], params: { a: 1 })
    http.get("/", basic: -> { %w[user pass] }, timeout: 4) { |chunk| chunk }
    assert_equal ["Bearer t1", nil, "Basic #{["user:pass"].pack("m0")}"], sent(server, "Authorization")
    assert_equal ["id1", "id1", nil], sent(server, "X-Id")
  end

  def test_values_are_computed_again_only_for_redirects_within_the_origin
    other = serve
    ways = { "/" => redirect("/a"), "/a" => redirect(other.url("/b")) }
    server = serve do |connection|
      while (request = connection.read_request)
        connection << ways.fetch(request.target)
      end
    end
    http = client(server.url, follow: true, bearer: counter, headers: { "X-Id" => counter("id") })
    response = http.get("/")
    assert_equal 200, response.status
    assert_equal ["Bearer t1", "Bearer t2"], sent(server, "Authorization")
    assert_equal [[nil], ["id3"]], [sent(other, "Authorization"), sent(other, "X-Id")]
    assert_equal "id3", response.request.headers["X-Id"]
  end

  def test_a_client_sends_its_token_only_to_its_base
    other = serve
    http = client(serve.url, bearer: counter)
    http.get(other.url("/"))
    http.get(other.url("/"), bearer: counter("own"))
    assert_equal [nil, "Bearer own1"], sent(other, "Authorization")
  end

  def test_a_call_may_replace_and_remove_what_the_client_has
    server = serve
    http = client(server.url, headers: { "X-Id" => counter("id"), "User-Agent" => counter("agent") })
    http.get("/", headers: { "x-id" => "mine" })
    http.get("/", headers: { "X-Id" => nil, "User-Agent" => nil })
    http.get("/", headers: { "X-Id" => -> {} })
    assert_equal ["mine", nil, nil], sent(server, "X-Id")
    assert_equal ["agent1", nil, "agent2"], sent(server, "User-Agent")
  end

  def test_an_array_is_a_field_for_each_element
    server = serve
    http = client(server.url)
    http.get("/", headers: { "X-Id" => -> { %w[a b] }, "X-Last" => "c" })
    http.get("/", headers: { "X-Id" => -> { [] } })
    assert_match(/^X-Id: a\r\nX-Id: b\r\nX-Last: c\r$/, server.requests.first.raw)
    refute_match(/X-Id/, server.requests.last.raw)
    assert_raises(Trunkline::InvalidRequest) { http.get("/", headers: { "X-Id" => -> { [nil] } }) }
  end

  def test_of_many
    server = serve
    http = client(server.url, bearer: counter)
    http.batch(concurrency: 1) do |batch|
      batch.get("/")
      batch.get("/", headers: { "X-Id" => counter("id") })
    end
    http.each(%w[/ /], concurrency: 1) { |_, result| assert_equal 200, result.status }
    http.async.get("/", headers: { "X-Id" => counter("f") }).value
    assert_equal (1..5).map { |number| "Bearer t#{number}" }, sent(server, "Authorization")
    assert_equal [nil, "id1", nil, nil, "f1"], sent(server, "X-Id")
  end

  def test_an_error_in_it_is_the_calls
    server = serve
    broken = -> { raise KeyError, "no token" }
    http = client(server.url)
    assert_equal "no token", assert_raises(KeyError) { http.get("/", bearer: broken) }.message
    assert_raises(KeyError) { client(server.url, headers: { "X-Id" => broken }).get("/") }
    results = http.batch do |batch|
      batch.get("/", bearer: broken)
      batch.get("/")
    end
    assert_equal [KeyError, 200], [results[0].class, results[1].status]
    assert_raises(KeyError) { http.async.get("/", bearer: broken).value! }
    assert_equal 1, server.requests.size
  end

  def test_values_are_checked_as_others
    server = serve
    http = client(server.url)
    { bearer: ["geheim\n", 5, -> {}], basic: ["geheim", %w[a:geheim b]] }.each do |name, values|
      values.each do |value|
        error = assert_raises(Trunkline::InvalidRequest) { http.get("/", name => -> { value }) }
        assert_match(/\A#{name}: /, error.message)
        refute_match(/geheim/, error.message)
      end
    end
    ["geheim\r\n", Object.new, -> {}].each do |value|
      error = assert_raises(Trunkline::InvalidRequest) { http.get("/", headers: { "X-Id" => -> { value } }) }
      assert_match(/\Aheaders: X-Id: /, error.message)
      refute_match(/geheim/, error.message)
    end
    assert_raises(Trunkline::InvalidRequest) { http.get("/", bearer: -> { "a" }, basic: %w[a b]) }
    assert_empty server.requests
  end

  def test_signers_see_the_values
    server = serve
    signer = Class.new do
      def sign(request) = { "X-Signature" => request.headers["X-Id"].reverse }
      def retry?(_response) = false
    end
    client(server.url, auth: signer.new, headers: { "X-Id" => counter("id") }).get("/")
    assert_equal ["1di"], sent(server, "X-Signature")
  end

  def test_any_object_with_call
    token = Class.new { def call = "t" }.new
    server = serve
    client(server.url, bearer: token).get("/")
    client(server.url).get("/", headers: { "X-Id" => counter.method(:call) })
    assert_equal [["Bearer t", nil], [nil, "t1"]], server.requests.map { |one| [one["Authorization"], one["X-Id"]] }
  end
end
