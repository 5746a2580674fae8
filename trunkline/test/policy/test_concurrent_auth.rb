# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"

# The options digest: and auth: in batches, each, map and async: many concurrent calls.
class TestConcurrentAuth < TrunklineTest
  DIGEST = 'Digest realm="trunkline", qop="auth", algorithm=SHA-256'

  def refusal(challenge) = response_bytes("no", status: "401 Unauthorized", "WWW-Authenticate" => challenge)

  def asking
    serve do |connection|
      while (request = connection.read_request)
        connection << (request["Authorization"] ? response_bytes(echo(request)) : refusal("#{DIGEST}, nonce=\"n\""))
      end
    end
  end

  def echo(request) = request.body.empty? ? request.target : request.body

  def digest(base = nil, **options) = client(base, digest: %w[robin secret], **options)

  CALL_STYLES = {
    batch: ->(http, paths) { http.batch(concurrency: 2) { |batch| paths.each { |path| batch.get(path) } } },
    map: ->(http, paths) { http.map(paths, concurrency: 2) },
    each: lambda do |http, paths|
      all = {}
      http.each(paths, concurrency: 2) { |path, result| all[path] = result }
      all.values_at(*paths)
    end,
    async: ->(http, paths) { paths.map { |path| http.async.get(path) }.map(&:value!) }
  }.freeze

  CALL_STYLES.each do |way, run|
    define_method(:"test_challenges_are_answered_and_reported_in_#{way}") do
      server = asking
      paths = %w[/a /b /c /d /e]
      responses = run.call(digest(server.url), paths)
      assert_equal paths, responses.map(&:body)
      challenges = responses.sum { |response| response.challenges.size }
      assert_operator challenges, :>=, 1
      assert_equal paths.size + challenges, server.requests.size, "each challenged request went out once more"
      assert_empty(responses.flat_map { |response| response.attempts.filter_map(&:error) })
    end
  end

  def test_later_requests_share_the_nonce
    server = asking
    http = digest(server.url)
    http.get("/first")
    responses = http.batch(concurrency: 3) { |batch| 6.times { batch.get("/") } }
    assert_empty responses.flat_map(&:challenges)
    counts = server.requests.filter_map { |request| request["Authorization"]&.[](/nc=(\h+)/, 1) }
    assert_equal (1..7).map { |number| format("%08x", number) }, counts.sort
  end

  def test_a_wrong_password_fails_each_request_separately
    server = serve(refusal("#{DIGEST}, nonce=\"n\""))
    responses = digest(server.url).batch { |batch| 3.times { batch.get("/") } }
    assert_equal [401] * 3, responses.map(&:status)
    assert_equal [1] * 3, responses.map { |response| response.challenges.size }
  end

  # Two requests signed with different nonces must not each treat the other's nonce as refused.
  def test_a_stale_nonce_is_replaced_while_other_requests_get_newer_nonces
    lock = Mutex.new
    number = 0
    server = serve do |connection|
      while (request = connection.read_request)
        nc = request["Authorization"]&.[](/nc=(\h+)/, 1)&.hex
        fresh = lock.synchronize { number += 1 }
        connection << (nc == 1 ? response_bytes : refusal("#{DIGEST}, nonce=\"n#{fresh}\""))
      end
    end
    http = digest(server.url)
    3.times do
      assert_equal [200] * 8, http.batch(concurrency: 4) { |batch| 8.times { batch.get("/") } }.map(&:status)
    end
  end

  def test_bodies_are_sent_again
    results = digest(asking.url).batch do |batch|
      batch.post("/", body: "text")
      batch.post("/", body: StringIO.new("file"))
      batch.post("/", json: { a: 1 })
    end
    assert_equal ["text", "file", '{"a":1}'], results.map(&:body)
  end

  def test_a_body_that_cannot_be_sent_again
    pieces = %w[a b]
    results = digest(asking.url).batch(concurrency: 1) do |batch|
      batch.post("/", body: -> { pieces.shift })
      batch.get("/x")
    end
    assert_kind_of Trunkline::AuthError, results[0]
    assert_equal "/x", results[1].body
  end

  def test_redirects_and_challenges_together
    server = serve do |connection|
      while (request = connection.read_request)
        next connection << refusal("#{DIGEST}, nonce=\"n\"") unless request["Authorization"]

        connection << (request.target == "/" ? redirect("/there") : response_bytes(request.target))
      end
    end
    response = digest(server.url, follow: 2).batch { |batch| batch.get("/") }.first
    assert_equal "/there", response.body
    assert_equal 1, response.redirects.size
  end

  def test_the_total_timeout_spans_challenges
    server = serve do |connection|
      while connection.read_request
        sleep 0.2
        connection << refusal("#{DIGEST}, nonce=\"n\", stale=true")
      end
    end
    error = digest(server.url, timeout: 0.3).batch { |batch| batch.get("/") }.first
    assert_kind_of Trunkline::TotalTimeout, error
    assert_operator error.elapsed, :>, 0.25
  end

  def test_options_of_one_request
    server = asking
    results = client(server.url).batch do |batch|
      batch.get("/a", digest: %w[robin secret])
      batch.get("/b")
    end
    assert_equal [200, 401], results.map(&:status)
  end

  # Signs with the given block, which may raise.
  class Signer
    def initialize(&sign) = @sign = sign
    def sign(request) = @sign.call(request)
    def retry?(_) = false
  end

  def test_a_custom_signer
    server = serve
    signer = Signer.new { |request| { "X-Signed" => request.uri.path } }
    client(server.url, auth: signer).map(%w[/a /b])
    assert_equal %w[/a /b], server.requests.map { |request| request["X-Signed"] }.sort
  end

  def test_an_exception_of_a_signer_is_the_result_of_its_request
    signer = Signer.new { |request| request.uri.path == "/a" ? raise(KeyError, "no key") : {} }
    results = client(serve.url, auth: signer).map(%w[/a /b])
    assert_kind_of KeyError, results[0]
    assert_equal 200, results[1].status
  end

  def test_a_signer_may_call_somebody
    token = serve(response_bytes("token"))
    server = serve
    http = client
    signer = Signer.new { { "X-Token" => http.get(token.url).body } }
    client(server.url, auth: signer).batch { |batch| 2.times { batch.get("/") } }
    assert_equal %w[token token], server.requests.map { |request| request["X-Token"] }
  end

  def test_a_signer_may_call_somebody_in_a_reactor
    token = serve(response_bytes("token"))
    server = serve
    http = client
    signer = Signer.new { { "X-Token" => http.get(token.url).body } }
    Sync { client(server.url, auth: signer).batch { |batch| batch.get("/") } }
    assert_equal ["token"], server.requests.map { |request| request["X-Token"] }
  end
end
