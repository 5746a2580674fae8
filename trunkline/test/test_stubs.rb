# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/stubs"

# Trunkline::Stubs: responses and faults instead of a network, and whether every stub was used.
class TestStubs < TrunklineTest
  Stubs = Trunkline::Stubs
  URL = "http://api.test/users"

  def stubbing(**options)
    stubs = opened(Stubs.new(**options))
    stubs.define_singleton_method(:stop) { disable }
    stubs.enable
  end

  # JRuby runs these threads in parallel.
  def test_threads_that_enable_stubs_at_once
    active = Array.new(4) do
      Thread.new do
        Array.new(1000) do
          stubs = Stubs.new.enable
          Trunkline::Interception.active.include?(stubs).tap { stubs.disable }
        end
      end
    end.flat_map(&:value)
    assert_equal [true], active.uniq
    assert_empty Trunkline::Interception.active
  end

  def test_a_stubbed_response_is_like_any_other
    fields = { "X-A" => %w[1 2], "Content-Type" => "text/plain; charset=utf-8" }
    stubbing.get(URL).answer(201, reason: "Made", headers: fields, body: "h\u00e9")
    response = client.get(URL)
    assert_instance_of Trunkline::Response, response
    assert_equal [201, "Made", "h\u00e9"], [response.status, response.reason, response.body]
    assert_equal Encoding::UTF_8, response.body.encoding
    assert_equal ["1, 2", %w[1 2]], [response["x-a"], response.headers.get_all("X-A")]
    assert_equal [URL, "GET"], [response.url, response.request.method]
    assert_equal %i[first all], [response.attempts.first.reason, response.attempts.first.sent]
    assert_predicate response, :complete?
    refute_predicate response, :length_unknown?
  end

  def test_json
    stubbing.get(URL).answer(json: { id: 1 })
    response = client.get(URL)
    assert_equal [{ "id" => 1 }, "application/json"], [response.json, response["content-type"]]
  end

  def test_progress_of_a_body
    stubbing.post(URL).answer(201)
    reported = []
    progress = ->(one) { reported << [one.bytes, one.total] }
    client.post(URL, body: "abc", progress: progress)
    client.map([[:post, URL, { body: ["ab"].each, progress: progress }]])
    assert_equal [[0, 3], [3, 3], [0, nil], [2, nil]], reported
  end

  def test_a_response_built_by_a_block
    stubbing.post(URL).answer { |request, body| { status: 202, body: "#{request.method} #{body}" } }
    response = client.post(URL, body: "abc")
    assert_equal [202, "POST abc"], [response.status, response.body]
  end

  def test_stubbed_responses_follow_in_order_and_the_last_repeats
    stubbing.get(URL).answer(503).then.timeout(:read).then.answer(200)
    client = self.client
    assert_equal 503, client.get(URL).status
    assert_raises(Trunkline::ReadTimeout) { client.get(URL) }
    assert_equal [200, 200], [client.get(URL).status, client.get(URL).status]
  end

  # [stub, request, whether they match]
  MATCHES = [
    [{ url: URL }, [:get, URL, {}], true],
    [{ url: URL }, [:get, "#{URL}/1", {}], false],
    [{ url: URL }, [:get, "#{URL}?a=1", {}], false],
    [{ url: "http://api.test:80/users" }, [:get, URL, {}], true],
    [{ url: URL, params: { a: 1 } }, [:get, "#{URL}?b=2&a=1", {}], true],
    [{ url: URL, params: { a: 1 } }, [:get, "#{URL}?b=2", {}], false],
    [{ url: /users\z/ }, [:get, URL, {}], true],
    [{ url: /users\z/ }, [:get, "#{URL}/1", {}], false],
    [{ method: :post }, [:get, URL, {}], false],
    [{ method: "POST" }, [:post, URL, {}], true],
    [{ headers: { "X-A" => "1" } }, [:get, URL, { headers: { "x-a" => "1" } }], true],
    [{ headers: { "X-A" => /\d/ } }, [:get, URL, { headers: { "x-a" => "b" } }], false],
    [{ headers: { "X-A" => nil } }, [:get, URL, {}], true],
    [{ body: "abc" }, [:post, URL, { body: "abc" }], true],
    [{ body: "abc" }, [:post, URL, { body: %w[a bc].each }], true],
    [{ body: "abc" }, [:post, URL, { body: "abcd" }], false],
    [{ body: /b/ }, [:post, URL, { body: "abc" }], true],
    [{ body: { a: [1] } }, [:post, URL, { json: { "a" => [1] } }], true],
    [{ body: { a: [1] } }, [:post, URL, { body: "no json" }], false],
    [{ body: ->(text) { text.size == 3 } }, [:post, URL, { body: "abc" }], true]
  ].freeze

  MATCHES.each_with_index do |(conditions, (method, url, options), expected), index|
    define_method(:"test_match_#{index}") do
      Stubs.use(network: false) do |stubs|
        stubs.on.answer(404)
        stubs.on(conditions[:url], **conditions.except(:url)).answer(200)
        assert_equal expected ? 200 : 404, client.request(method, url, options).status, conditions.inspect
        stubs.unused.each(&:take)
      end
    end
  end

  def test_the_newest_matching_stub_is_used
    stubs = stubbing
    stubs.get(URL).answer(200)
    stubs.get(URL).answer(201)
    assert_equal 201, client.get(URL).status
  end

  def test_timeouts_of_every_phase_say_what_the_server_can_have_seen
    { queue: :none, resolve: :none, connect: :none, tls: :none, write: :partial, first_byte: :all,
      read: :all }.each do |phase, sent|
      Stubs.use do |stubs|
        stubs.get(URL).timeout(phase)
        error = assert_raises(Trunkline::TimeoutError) { client.get(URL) }
        assert_equal [phase, sent, "GET"], [error.phase, error.sent, error.request.method]
        assert_kind_of Trunkline.const_get(Stubs::Fault.timeout(phase).class_name), error
      end
    end
  end

  def test_an_unknown_phase_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { Stubs.new.get(URL).timeout(:dns) }
    assert_includes error.message, "first_byte"
  end

  def test_a_reset_without_a_response
    stubbing.post(URL).reset
    error = assert_raises(Trunkline::ConnectionClosed) { client.post(URL, body: "a") }
    assert_equal :all, error.sent
  end

  def test_a_refused_connection
    stubbing.get(URL).refuse
    assert_equal :none, assert_raises(Trunkline::ConnectError) { client.get(URL) }.sent
  end

  def test_a_reset_within_the_body_after_streamed_chunks
    stubbing.get(URL).reset(after: 4, body: "half a body")
    chunks = []
    error = assert_raises(Trunkline::TruncatedBody) { client.get(URL) { |chunk| chunks << chunk } }
    assert_equal "half", chunks.join
    assert_includes error.message, "4 of 11 bytes"
    assert_raises(Trunkline::TruncatedBody) { client.get(URL) }
  end

  def test_streaming
    body = "0123456789" * 10_000
    stubbing.get(URL).answer(body: body)
    chunks = []
    response = client.get(URL) { |chunk| chunks << chunk }
    assert_operator chunks.size, :>, 1
    assert_equal [body, ""], [chunks.join, response.body]

    response = client.get(URL, stream: true)
    first = response.read
    assert_equal body, first + response.body
    response.close
    assert_nil response.read
  end

  def test_redirects_are_followed_from_stub_to_stub
    stubs = stubbing
    stubs.get(URL).answer(302, headers: { "Location" => "/moved" })
    stubs.get("http://api.test/moved").answer(body: "there")
    response = client(follow: 2).get(URL)
    assert_equal ["there", 1, "http://api.test/moved"], [response.body, response.redirects.size, response.url]
  end

  def test_stubs_serve_batches
    stubs = stubbing
    stubs.get(URL).answer(body: "a")
    stubs.post(URL).timeout(:connect)
    results = client.batch do |batch|
      batch.get(URL)
      batch.post(URL, body: "x")
      batch.get(URL)
    end
    assert_equal "a", results[0].body
    assert_kind_of Trunkline::ConnectTimeout, results[1]
    assert_equal "a", results[2].body
  end

  def test_batches_mix_stubs_and_the_network
    server = serve(response_bytes("real"))
    stubbing(network: true).get(URL).answer(body: "stubbed")
    results = client.batch do |batch|
      batch.get(URL)
      batch.get(server.url)
    end
    assert_equal %w[stubbed real], results.map(&:body)
  end

  def test_a_body_that_was_looked_at_is_sent_all_the_same
    bodies = []
    app = serve_rack { |env| [200, {}, [bodies << env["rack.input"].read && "ok"]] }
    stubbing(network: true)
    client.post(app.url, body: %w[a b c].each)
    client.post(app.url, body: StringIO.new("stream"))
    assert_equal %w[abc stream], bodies
  end

  def test_a_call_without_a_stub_raises_what_no_rescue_hides
    stubbing.get(URL)
    error = assert_raises(Stubs::Unexpected) do
      client.get("http://api.test/other?token=secret")
    rescue StandardError
      flunk "rescued"
    end
    assert_includes error.message, "GET http://api.test/other"
    assert_includes error.message, "GET #{URL}"
    refute_includes error.message, "secret"
  end

  def test_unused_stubs_are_named
    error = assert_raises(Stubs::Unused) do
      Stubs.use do |stubs|
        stubs.get(URL).answer(200).then.answer(201)
        stubs.delete(/users/)
        client.get(URL)
      end
    end
    assert_includes error.message, "GET #{URL} (1 of 2 answers)"
    assert_includes error.message, "DELETE /users/"
  end

  def test_an_error_in_the_block_is_not_hidden_by_unused_stubs
    assert_raises(KeyError) { Stubs.use { |stubs| stubs.get(URL) && {}.fetch(:a) } }
  end

  def test_stubs_end_with_their_block
    server = serve(response_bytes("real"))
    Stubs.use { |stubs| stubs.get(server.url).answer(body: "stub") && client.get(server.url) }
    assert_equal "real", client.get(server.url).body
  end

  def test_calls_are_recorded
    stubs = stubbing
    stubs.on
    client.post(URL, json: { a: 1 })
    assert_equal [["POST", '{"a":1}']], stubs.calls.map { |call| [call.request.method, call.body] }
  end

  def test_bad_input
    stub = Stubs.new.get(URL)
    assert_raises(Trunkline::InvalidRequest) { stub.answer(99) }
    assert_raises(Trunkline::InvalidRequest) { stub.answer(200, body: "a", json: 1) }
    assert_raises(Trunkline::InvalidRequest) { stub.reset(after: 5, body: "abc") }
    assert_raises(Trunkline::InvalidRequest) { Stubs.new.get("no url") }
    stubbing.get(URL).answer(headers: { "X-A" => "a\r\nb" })
    assert_raises(Trunkline::InvalidRequest) { client.get(URL) }
  end
end
