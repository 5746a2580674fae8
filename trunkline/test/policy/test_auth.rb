# frozen_string_literal: true

require_relative "../test_helper"

# The options digest:, netrc: and auth: against servers that require authentication.
class TestAuth < TrunklineTest
  DIGEST = 'Digest realm="trunkline", qop="auth", algorithm=SHA-256'

  def refusal(challenge, body = "no")
    response_bytes(body, status: "401 Unauthorized", "WWW-Authenticate" => challenge)
  end

  # Sends the challenge to a request without Authorization; echoes the body of any other.
  def asking(challenge = "#{DIGEST}, nonce=\"first\"", **fields)
    serve do |connection|
      while (request = connection.read_request)
        echo = request.body.empty? ? "in" : request.body
        connection << (request["Authorization"] ? response_bytes(echo, **fields) : refusal(challenge))
      end
    end
  end

  def authorizations(server) = server.requests.map { |request| request["Authorization"] }

  def digest(base = nil, **options) = client(base, digest: %w[robin secret], **options)

  def test_a_digest_challenge_is_answered_and_listed_in_challenges
    server = asking
    response = digest.get(server.url("/path?query=1"))
    assert_equal "in", response.body
    assert_equal [401], response.challenges.map(&:status)
    assert_equal "no", response.challenges.first.body
    unsigned, signed = authorizations(server)
    assert_nil unsigned
    assert_match(%r{\ADigest username="robin", realm="trunkline", uri="/path\?query=1", algorithm=SHA-256, }, signed)
    assert_includes signed, 'nonce="first"'
    assert_equal 1, server.connection_count
  end

  def test_the_nonce_is_reused_and_counted
    server = asking
    http = digest
    3.times { http.get(server.url) }
    counts = authorizations(server).map { |sent| sent&.[](/nc=(\h+)/, 1) }
    assert_equal [nil, "00000001", "00000002", "00000003"], counts
    assert_equal 3, authorizations(server).compact.map { |sent| sent[/cnonce="(\w+)"/, 1] }.uniq.size
    assert_empty http.get(server.url).challenges
  end

  def test_the_next_nonce_is_used
    wanted = "n1"
    server = serve do |connection|
      while (request = connection.read_request)
        good = request["Authorization"]&.include?("\"#{wanted}\"")
        next connection << refusal("#{DIGEST}, nonce=#{wanted}") unless good

        wanted = wanted.succ
        connection << response_bytes("Authentication-Info" => "nextnonce=\"#{wanted}\"")
      end
    end
    http = digest
    assert_equal [1, 0, 0], Array.new(3) { http.get(server.url).challenges.size }
    assert_equal %w[n1 n2 n3], authorizations(server).filter_map { |sent| sent&.[](/ nonce="(\w+)"/, 1) }
    assert(authorizations(server).compact.all? { |sent| sent.include?("nc=00000001") })
  end

  def test_a_next_nonce_that_has_grown_old_is_no_refusal
    wanted = "a1"
    server = serve do |connection|
      while (request = connection.read_request)
        good = request["Authorization"]&.include?("\"#{wanted}\"")
        wanted = wanted.succ # so the announced next nonce is stale at once
        connection << if good
                        response_bytes("Authentication-Info" => "nextnonce=old")
                      else
                        refusal("#{DIGEST}, nonce=#{wanted}")
                      end
      end
    end
    http = digest
    assert_equal [200] * 3, Array.new(3) { http.get(server.url).status }
  end

  def test_a_next_nonce_that_cannot_be_read_is_none
    ["=", "a=b", ", ,", "\xFF", "nextnonce", "nextnonce=\"", "nextnonce=\"\""].each do |field|
      url = asking("#{DIGEST}, nonce=\"n\"", "Authentication-Info" => field.b).url
      http = digest
      assert_equal [200, 200], Array.new(2) { http.get(url).status }, field.inspect
    end
  end

  def test_realms_beyond_ascii
    server = asking("Digest realm=\"r\xE9alm\", nonce=\"n\"".b)
    assert_equal "in", client(digest: %W[J\u00e4s\u00f8n s\u00e9cret]).get(server.url).body
    assert_includes authorizations(server).last.b, "username=\"J\u00e4s\u00f8n\", realm=\"r\xE9alm\"".b
  end

  def test_a_wrong_password_is_the_callers_to_see
    server = serve(refusal("#{DIGEST}, nonce=\"n\""))
    response = digest.get(server.url)
    assert_equal 401, response.status
    assert_equal 1, response.challenges.size
    assert_attempts 2, server
  end

  def test_a_stale_nonce_is_replaced_once
    server = serve do |connection|
      while (request = connection.read_request)
        fresh = request["Authorization"]&.include?('nonce="fresh"')
        challenge = request["Authorization"] ? 'nonce="fresh", stale=true' : 'nonce="old"'
        connection << (fresh ? response_bytes : refusal("#{DIGEST}, #{challenge}"))
      end
    end
    response = digest.get(server.url)
    assert_equal 200, response.status
    assert_equal 2, response.challenges.size
  end

  def test_repeated_stale_challenges_end_after_three_attempts
    server = serve(refusal("#{DIGEST}, nonce=\"n\", stale=true"))
    assert_equal 401, digest.get(server.url).status
    assert_attempts 3, server
  end

  def test_sha256_is_preferred_and_a_basic_challenge_is_ignored
    server = asking('Basic realm="b", Digest realm="d", nonce="m", algorithm=MD5, Digest realm="d", nonce="s", ' \
                    'algorithm=SHA-256, Digest realm="d", nonce="x", algorithm=SHA-512')
    digest.get(server.url)
    assert_match(/algorithm=SHA-256, nonce="s"/, authorizations(server).last)
    other = serve(refusal('Basic realm="b"'))
    assert_equal 401, digest.get(other.url).status
    assert_attempts 1, other
  end

  def test_challenges_that_cannot_be_answered
    { 'Digest realm="d"' => /without a nonce/, 'Digest nonce="n"' => /without a realm/,
      'Digest realm="d", nonce="n", algorithm=SHA3' => /unknown algorithm/,
      'Digest realm="d", nonce="n", qop="auth-int"' => /qop auth-int alone/ }.each do |challenge, words|
      server = serve(refusal(challenge))
      error = assert_raises_with(Trunkline::AuthError, phase: :read, sent: :all) { digest.get(server.url) }
      assert_match words, error.message
      assert_equal 401, error.response.status
      assert_attempts 1, server, settle: 0.05
    end
  end

  def test_a_body_is_sent_again
    server = asking
    assert_equal "text", digest.post(server.url, body: "text").body
    assert_equal "file", digest.post(server.url, body: StringIO.new("file")).body
    assert_equal({ "a" => 1 }, digest.post(server.url, json: { a: 1 }).json)
  end

  def test_a_body_that_cannot_be_sent_again
    pieces = %w[a b]
    error = assert_raises(Trunkline::AuthError) { digest.post(asking.url, body: -> { pieces.shift }) }
    assert_match(/cannot be rewound/, error.message)
  end

  def test_streaming
    server = asking
    chunks = []
    digest.get(server.url) { |chunk| chunks << chunk }
    assert_equal ["in"], chunks
    assert_equal "in", digest.get(server.url, stream: true).read
  end

  def test_credentials_stay_with_their_origin
    elsewhere = serve(refusal("#{DIGEST}, nonce=\"n\""))
    server = serve do |connection|
      while (request = connection.read_request)
        connection << (request["Authorization"] ? redirect(elsewhere.url) : refusal("#{DIGEST}, nonce=\"n\""))
      end
    end
    response = digest(follow: 3).get(server.url)
    assert_equal 401, response.status
    assert_equal [nil], authorizations(elsewhere)
    assert_equal 401, digest(server.url).get(elsewhere.url).status
    assert_equal [nil, nil], authorizations(elsewhere)
  end

  def test_the_total_timeout_spans_challenges
    server = serve do |connection|
      while connection.read_request
        sleep 0.2
        connection << refusal("#{DIGEST}, nonce=\"n\", stale=true")
      end
    end
    took, error = raised_after(Trunkline::TotalTimeout) { digest(timeout: 0.3).get(server.url) }
    assert_took 0.3, took, 0.15
    assert_operator error.elapsed, :>, 0.25
  end

  # Records the requests and statuses that it sees, and signs with the nonce of the challenge.
  class Signer
    attr_reader :seen

    def initialize = @seen = []

    def sign(request)
      @seen << [request.method, request.uri.path]
      { "Authorization" => "Own #{@nonce}", "X-Signed" => "yes" } if @nonce
    end

    def retry?(response)
      @seen << response.status
      @nonce = response["WWW-Authenticate"][/nonce=(\w+)/, 1]
      true
    end
  end

  def test_a_custom_signer
    server = asking("Own nonce=abc")
    signer = Signer.new
    response = client(auth: signer).get(server.url("/path"))
    assert_equal "in", response.body
    assert_equal [%w[GET /path], 401, %w[GET /path]], signer.seen
    assert_equal "Own abc", server.requests.last["Authorization"]
    assert_equal "yes", server.requests.last["X-Signed"]
  end

  def test_netrc
    server = serve
    Tempfile.create("netrc") do |file|
      file.write("machine 127.0.0.1 login robin password secret")
      file.flush
      http = client(netrc: file.path)
      http.get(server.url)
      http.get(server.url, bearer: "token")
      http.get(server.url(host: "localhost"))
      client(netrc: file.path, basic: %w[a b]).get(server.url)
    end
    basic = ->(text) { "Basic #{[text].pack("m0")}" }
    assert_equal [basic["robin:secret"], "Bearer token", nil, basic["a:b"]], authorizations(server)
  end

  def test_kinds_of_authorization_exclude_each_other
    assert_raises(Trunkline::InvalidRequest) { client(digest: %w[a b], basic: %w[a b]) }
    assert_raises(Trunkline::InvalidRequest) { client(auth: Signer.new, bearer: "x") }
  end
end
