# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "openssl"
require "trunkline/options"

# The computation of digests and the parsing of challenges, without a network.
class TestDigest < UnitTest
  Digest = Trunkline::Policy::Auth::Digest
  Challenge = Trunkline::Policy::Auth::Challenge

  # The example of RFC 7616 3.9.1
  EXAMPLE = {
    "realm" => "http-auth@example.org", "qop" => "auth, auth-int",
    "nonce" => "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
    "opaque" => "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
  }.freeze
  CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

  def header(parameters, method: "GET", target: "/dir/index.html", cnonce: CNONCE, count: 1,
             user: "Mufasa", password: "Circle of Life")
    digest = Digest.new(user, password)
    state = digest.state_of(parameters)
    state.uses = count
    digest.authorization(state, method, target, cnonce)
  end

  def test_the_rfcs_examples
    assert_includes header(EXAMPLE.merge("algorithm" => "MD5")), 'response="8ca523f5e9506fed4657c9700eebdbec"'
    assert_includes header(EXAMPLE.merge("algorithm" => "SHA-256")),
                    'response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"'
  end

  # The example of RFC 2617 3.5, whose challenge has no algorithm parameter, which means MD5.
  def test_the_old_rfcs_example
    old = { "realm" => "testrealm@host.com", "qop" => "auth", "nonce" => "dcd98b7102dd2f0e8b11d0f600bfb0c093" }
    assert_includes header(old, cnonce: "0a4f113b", password: "Circle Of Life"),
                    'response="6629fae49393a05397450978507c4ef1"'
  end

  def test_without_qop
    sent = header({ "realm" => "r", "nonce" => "n" })
    expected = md5("#{md5("Mufasa:r:Circle of Life")}:n:#{md5("GET:/dir/index.html")}")
    assert_includes sent, "response=\"#{expected}\""
    refute_match(/qop|nc=|cnonce/, sent)
  end

  def test_a_qop_that_is_empty
    refute_match(/qop|nc=|cnonce/, header({ "realm" => "r", "nonce" => "n", "qop" => " " }))
  end

  # User names are UTF-8; realms are the bytes that the server sent.
  def test_users_and_realms_beyond_ascii
    ["r\u00e9alm", "r\xE9alm".b, "plain"].each do |realm|
      offered = Challenge.parse(["Digest realm=\"#{realm}\", nonce=n"]).first
      sent = header(offered.parameters, user: "J\u00e4s\u00f8n", password: "s\u00e9cret".encode("ISO-8859-1"))
      secret = md5("J\u00e4s\u00f8n:".b + realm.b + ":s\u00e9cret".b)
      assert_includes sent, "response=\"#{md5("#{secret}:n:#{md5("GET:/dir/index.html")}")}\""
      assert_includes sent, "username=\"J\u00e4s\u00f8n\", realm=\"".b + realm.b
    end
  end

  def test_session_algorithms
    secret = md5("#{md5("Mufasa:r:Circle of Life")}:n:#{CNONCE}")
    expected = md5("#{secret}:n:00000002:#{CNONCE}:auth:#{md5("GET:/dir/index.html")}")
    sent = header({ "realm" => "r", "nonce" => "n", "qop" => "auth", "algorithm" => "md5-sess" }, count: 2)
    assert_includes sent, "response=\"#{expected}\""
    assert_match(/algorithm=MD5-sess, .*nc=00000002/, sent)
  end

  def test_quoted_parameters
    sent = header(EXAMPLE.merge("realm" => 'say "\\hi"'))
    assert_includes sent, 'username="Mufasa", realm="say \"\\\\hi\""'
    assert_includes sent, "qop=auth,"
    assert_includes sent, "algorithm=MD5,"
  end

  def test_a_hashed_user
    sent = header(EXAMPLE.merge("userhash" => "true"))
    assert_includes sent, "username=\"#{md5("Mufasa:http-auth@example.org")}\""
    assert_includes sent, "userhash=true"
  end

  # fields => parsed challenges
  CHALLENGES = {
    ['Digest realm="a", nonce="b"'] => [["digest", { "realm" => "a", "nonce" => "b" }]],
    ['Basic realm="x, Digest nonce=1", DIGEST Realm = "a\"b" ,, nonce=c, stale=TRUE'] =>
      [["basic", { "realm" => "x, Digest nonce=1" }],
       ["digest", { "realm" => 'a"b', "nonce" => "c", "stale" => "TRUE" }]],
    ["Negotiate", "Bearer abc=="] => [["negotiate", {}], ["bearer", {}]],
    ["Negotiate abc==, Digest nonce=c"] => [["negotiate", {}], ["digest", { "nonce" => "c" }]],
    ["", ",,", "=", "\"", "nonce=alone"] => []
  }.freeze

  def test_challenges
    CHALLENGES.each do |fields, expected|
      found = Challenge.parse(fields).map { |one| [one.scheme, one.parameters] }
      assert_equal expected, found
    end
  end

  def test_the_options
    assert_refused("digest:", "not shown") { Trunkline::Options.check(:digest, %w[user]) }
    assert_refused("auth:", "#sign(request)") { Trunkline::Options.check(:auth, Object.new) }
    refute_match(/secret/, Trunkline::Options.check(:digest, %w[user secret]).inspect)
  end

  private

  def md5(text) = OpenSSL::Digest::MD5.hexdigest(text)
end
