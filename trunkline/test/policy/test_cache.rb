# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/numbered_responses"
require_relative "../support/call_styles"

# The option cache: storing and reusing responses (RFC 9111), over sockets.
class TestCache < TrunklineTest
  include NumberedResponses
  include CallStyles

  FRESH = { "Cache-Control" => "max-age=60" }.freeze
  TAGGED = { "Cache-Control" => "max-age=0", "ETag" => '"1"' }.freeze
  NOT_MODIFIED = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"

  # ---- the table: fields of the response, fields of the requests, and whether the second request is a hit ----

  SOON = -> { (Time.now + 60).httpdate }
  PAST = -> { (Time.now - 60).httpdate }
  CASES = {
    "max-age" => [FRESH, {}, true],
    "a quoted max-age" => [{ "Cache-Control" => 'max-age="60"' }, {}, true],
    "max-age in the value of another directive" => [{ "Cache-Control" => 'x="max-age=60"' }, {}, false],
    "what is no number" => [{ "Cache-Control" => "max-age=6o" }, {}, false],
    "the lower one of two" => [{ "Cache-Control" => "max-age=60, max-age=0" }, {}, false],
    "private" => [{ "Cache-Control" => "private, max-age=60" }, {}, true],
    "s-maxage is for shared caches" => [{ "Cache-Control" => "s-maxage=60" }, {}, false],
    "no-store" => [{ "Cache-Control" => "no-store, max-age=60" }, {}, false],
    "no-cache" => [{ "Cache-Control" => "no-cache, max-age=60" }, {}, false],
    "must-revalidate of a fresh one" => [{ "Cache-Control" => "max-age=60, must-revalidate" }, {}, true],
    "Expires" => [{ "Expires" => SOON }, {}, true],
    "Expires in the past" => [{ "Expires" => PAST }, {}, false],
    "Expires that is no date" => [{ "Expires" => "0" }, {}, false],
    "max-age counts more than Expires" => [{ "Cache-Control" => "max-age=60", "Expires" => PAST }, {}, true],
    "Age" => [{ **FRESH, "Age" => "61" }, {}, false],
    "an old Date" => [{ **FRESH, "Date" => -> { (Time.now - 61).httpdate } }, {}, false],
    "nothing is guessed" => [{ "Last-Modified" => -> { (Time.now - 1_000_000).httpdate } }, {}, false],
    "Vary that fits" => [{ **FRESH, "Vary" => "Accept, X-A" }, {}, true],
    "Vary: *" => [{ **FRESH, "Vary" => "*" }, {}, false],
    "Set-Cookie" => [{ **FRESH, "Set-Cookie" => "a=1" }, {}, true],
    "a request's no-cache" => [FRESH, { "Cache-Control" => "no-cache" }, false],
    "a request's Pragma" => [FRESH, { "Pragma" => "no-cache" }, false],
    "a request's no-store" => [FRESH, { "Cache-Control" => "no-store" }, false],
    "a request's max-age" => [{ **FRESH, "Age" => "20" }, { "Cache-Control" => "max-age=10" }, false],
    "a request's min-fresh" => [{ **FRESH, "Age" => "20" }, { "Cache-Control" => "min-fresh=50" }, false],
    "a request's max-stale" => [{ **FRESH, "Age" => "70" }, { "Cache-Control" => "max-stale=30" }, true],
    "too stale" => [{ **FRESH, "Age" => "100" }, { "Cache-Control" => "max-stale=30" }, false],
    "stale however old" => [{ **FRESH, "Age" => "100" }, { "Cache-Control" => "max-stale" }, true],
    "must-revalidate of a stale one" =>
      [{ "Cache-Control" => "max-age=60, must-revalidate", "Age" => "70" }, { "Cache-Control" => "max-stale" }, false]
  }.freeze

  CASES.each do |name, (fields, asked, given)|
    define_method("test_case_#{name.tr("^A-Za-z0-9*-", "_")}") do
      server = serve_numbered { fields.transform_values { |value| value.respond_to?(:call) ? value.call : value } }
      http = cached(server)
      first = http.get("/")
      second = http.get("/", headers: asked)
      assert_equal [false, given], [first.cache.hit?, second.cache.hit?]
      assert_equal ["answer 1", given ? "answer 1" : "answer 2"], [first.body, second.body]
      assert_equal given ? 1 : 2, server.requests.size
    end
  end

  STATUSES = { 200 => true, 203 => true, 301 => true, 302 => true, 404 => true, 410 => true, 500 => true, 206 => false,
               304 => false }.freeze

  def test_statuses_that_are_stored
    server = serve_numbered do |request, _|
      "HTTP/1.1 #{request.target.delete("/")} X\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n"
    end
    http = cached(server)
    kept = STATUSES.to_h { |status, _| [status, Array.new(2) { http.get("/#{status}") }.last.cache.hit?] }
    assert_equal STATUSES, kept
  end

  # ---- hits ----

  def test_every_call_style_returns_the_stored_response
    server = serve_numbered { { **FRESH, "X-Own" => "a", "Content-Type" => "text/plain; charset=utf-8" } }
    http = cached(server)
    first = http.get("/")
    each_call_style do |style, call|
      response = call.call(http, :get, "/")
      assert_equal [200, "OK", "answer 1", Encoding::UTF_8],
                   [response.status, response.reason, response.body, response.body.encoding], style
      assert_match(/\A\d\z/, response["age"], style)
      assert_equal first.headers.to_h, response.headers.to_h.except("age", "date"), style
      assert_predicate response.cache, :hit?, style
      assert_empty response.attempts, style
    end
    assert_equal 1, server.requests.size
  end

  def test_every_call_style_stores_a_miss
    each_call_style(but: %i[streamed]) do |style, call|
      server = serve_numbered { FRESH }
      http = cached(server)
      assert_equal "answer 1", call.call(http, :get, "/").body, style
      assert_predicate http.get("/").cache, :hit?, style
    end
  end

  STREAMED = {
    "chunks" => ->(http) { http.get("/", stream: true).then { |one| one.read.tap { one.read } } },
    "each" => ->(http) { +"" << http.get("/", stream: true).each.to_a.join },
    "body" => ->(http) { http.get("/", stream: true).body },
    "by bytes" => ->(http) { http.get("/", stream: true).then { |one| +"" << one.read(3) << one.read(100) } },
    "into a buffer" => ->(http) { http.get("/", stream: true).then { |one| one.read(+"").tap { one.read(+"") } } },
    "copied" => ->(http) { StringIO.new.tap { |out| IO.copy_stream(http.get("/", stream: true), out) }.string },
    "block" => ->(http) { (+"").tap { |all| http.get("/") { |chunk| all << chunk } } }
  }.freeze

  def test_a_streamed_response_is_stored_when_it_was_read_to_its_end
    STREAMED.each do |style, read|
      server = serve_numbered { FRESH }
      http = cached(server)
      assert_equal "answer 1", read.call(http), style
      assert_equal ["answer 1", true], http.get("/").then { |one| [one.body, one.cache.hit?] }, style
      assert_equal "answer 1", read.call(http), style
      assert_equal 1, server.requests.size, style
    end
  end

  def test_a_streamed_response_that_is_not_read_to_its_end_is_not_stored
    large = "x" * 300_000
    { "left" => ->(http) { http.get("/") { |_| break } },
      "closed" => ->(http) { http.get("/", stream: true).close },
      "in part" => ->(http) { http.get("/", stream: true).tap { |one| one.read(10) }.body } }.each do |style, read|
      http = cached(serve_numbered { |_, number| response_bytes("#{number}#{large}", **FRESH) })
      read.call(http)
      assert_equal "2", http.get("/").body[0], style
    end
    store = Trunkline::Cache::Memory.new
    server = serve { |one| one.read_request && one << response_bytes("short", **FRESH).sub("Length: 5", "Length: 9") }
    assert_raises(Trunkline::TruncatedBody) { cached(server, store).get("/", stream: true).body }
    assert_equal 0, store.size
  end

  def test_a_streamed_response_larger_than_the_limit_is_not_stored
    body = "x" * 5000
    chunked = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n" \
              "1388\r\n#{body}\r\n0\r\n\r\n"
    [response_bytes(body, **FRESH), chunked].each do |bytes|
      http = cached(serve_numbered { bytes }, { max_entry_bytes: 1024 })
      2.times { assert_equal [false, body], http.get("/", stream: true).then { |one| [one.cache.hit?, one.body] } }
    end
  end

  def test_a_streamed_response_replaces_a_stale_one
    http = cached(serve_numbered { { "Cache-Control" => "max-age=60" } })
    http.get("/")
    assert_equal "answer 2", http.get("/", stream: true, headers: { "Cache-Control" => "no-cache" }).body
    assert_equal ["answer 2", true], http.get("/").then { |one| [one.body, one.cache.hit?] }
  end

  def test_callers_cannot_change_a_stored_response
    server = serve_numbered { FRESH }
    http = cached(server)
    3.times { assert_equal "answer 1!", http.get("/").body << "!" }
  end

  def test_a_hit_makes_few_objects
    http = cached(serve_numbered { FRESH })
    3.times { http.get("/") }
    before = GC.stat(:total_allocated_objects)
    100.times { http.get("/") }
    assert_operator (GC.stat(:total_allocated_objects) - before) / 100.0, :<=, 35
  end

  def test_the_age_grows
    server = serve_numbered { { **FRESH, "Age" => "7" } }
    http = cached(server)
    http.get("/")
    sleep 1.1
    response = http.get("/")
    assert_includes 8..30, response["age"].to_i
    assert_equal 60, response["age"].to_i + response.cache.ttl
  end

  def test_a_head_request_is_served_from_a_stored_get
    server = serve_numbered { FRESH }
    http = cached(server)
    http.get("/")
    response = http.head("/")
    assert_equal ["", "8", true], [response.body, response["content-length"], response.cache.hit?]
  end

  def test_a_head_response_updates_or_invalidates_the_stored_response
    server = serve_numbered do |request, number|
      next { "Cache-Control" => "max-age=0", "ETag" => '"1"', "X-N" => number.to_s } unless request.verb == "HEAD"

      "HTTP/1.1 200 OK\r\nETag: \"#{request["X-Tag"]}\"\r\nCache-Control: max-age=60\r\nX-N: new\r\n" \
        "Content-Length: 8\r\n\r\n"
    end
    http = cached(server)
    http.get("/")
    http.head("/", headers: { "X-Tag" => "1" })
    assert_equal ["answer 1", "new", true], http.get("/").then { |one| [one.body, one["x-n"], one.cache.hit?] }
    http.head("/", headers: { "X-Tag" => "2", "Cache-Control" => "no-cache" })
    refute_predicate http.get("/").cache, :hit?
  end

  def test_response_cache_is_nil_without_a_cache
    server = serve(response_bytes)
    assert_nil client(server.url).get("/").cache
    assert_nil cached(server).get("/", cache: false).cache
  end

  # ---- validation ----

  def test_a_304_updates_the_stored_response
    server = serve_numbered do |request, number|
      next { **TAGGED, "X-N" => "old", "Content-Language" => "en" } if number == 1

      assert_equal '"1"', request["If-None-Match"]
      "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nX-N: new\r\nCache-Control: max-age=60\r\nContent-Length: 99\r\n\r\n"
    end
    http = cached(server)
    http.get("/")
    second = http.get("/")
    assert_equal ["trunkline; stored; fwd=stale; fwd-status=304; ttl", "answer 1"], status_and_body(second)
    assert_equal [200, "new", "en", "8", 1, true],
                 [second.status, *%w[x-n content-language content-length].map { |name| second[name] },
                  second.attempts.size, second.cache.revalidated?]
    assert_equal ["trunkline; hit; ttl", "answer 1"], status_and_body(http.get("/"))
  end

  def test_every_call_style_validates_a_stale_response
    each_call_style do |style, call|
      server = serve_numbered { |request, _| request["If-None-Match"] ? NOT_MODIFIED : TAGGED }
      http = cached(server)
      http.get("/")
      response = call.call(http, :get, "/")
      assert_equal [200, "answer 1", true], [response.status, response.body, response.cache.revalidated?], style
    end
  end

  def test_by_the_date_of_the_last_change
    date = (Time.now - 1000).httpdate
    server = serve_numbered do |request, _|
      request["If-Modified-Since"] == date ? "HTTP/1.1 304 X\r\n\r\n" : { "Last-Modified" => date }
    end
    http = cached(server)
    assert_equal %w[1 1], Array.new(2) { http.get("/").body[/\d/] }
  end

  def test_a_changed_response_replaces_the_stored_one
    server = serve_numbered { |_, number| number == 1 ? TAGGED : { **FRESH, "ETag" => '"2"' } }
    http = cached(server)
    assert_equal ["answer 1", "answer 2", "answer 2"], Array.new(3) { http.get("/").body }
  end

  def test_a_304_with_another_etag_repeats_the_request_unconditionally
    server = serve_numbered do |request, _|
      request["If-None-Match"] ? "HTTP/1.1 304 X\r\nETag: \"9\"\r\n\r\n" : TAGGED
    end
    http = cached(server)
    http.get("/")
    response = http.get("/")
    assert_equal [200, "answer 3", %i[first again]], [response.status, response.body, response.attempts.map(&:reason)]
  end

  def test_a_condition_of_the_caller
    server = serve_numbered { { **FRESH, "ETag" => '"1"', "X-Own" => "a" } }
    http = cached(server)
    http.get("/")
    response = http.get("/", headers: { "If-None-Match" => 'W/"0", W/"1"' })
    assert_equal [304, "", '"1"', nil, true],
                 [response.status, response.body, response["etag"], response["x-own"], response.cache.hit?]
    assert_equal 200, http.get("/", headers: { "If-None-Match" => '"2"' }).status
    assert_equal 1, server.requests.size
    http.get("/", headers: { "If-Match" => '"1"' })
    assert_equal 2, server.requests.size
  end

  # ---- partial content ----

  def test_a_range_of_a_stored_response
    server = serve_numbered { { **FRESH, "ETag" => '"1"' } }
    http = cached(server)
    http.get("/")
    { "bytes=0-1" => %w[an 0-1], "bytes=6-" => [" 1", "6-7"], "bytes=-1" => %w[1 7-7] }.each do |range, (part, place)|
      response = http.get("/", headers: { "Range" => range, "If-Range" => '"1"' })
      assert_equal [206, part, "bytes #{place}/8", part.bytesize.to_s],
                   [response.status, response.body, response["content-range"], response["content-length"]]
    end
    assert_equal 200, http.get("/", headers: { "Range" => "bytes=0-1", "If-Range" => '"2"' }).status
    assert_equal 1, server.requests.size
    ["bytes=0-1,3-4", "bytes=99-", "lines=1-2"].each { |range| http.get("/", headers: { "Range" => range }) }
    assert_equal 4, server.requests.size
  end

  # ---- separation by credentials ----

  def test_credentials_are_never_mixed
    server = serve_numbered { FRESH }
    http = cached(server, credential_headers: ["X-Tenant"])
    options = [{}, { bearer: "a" }, { bearer: "b" }, { basic: %w[a b] }, { bearer: -> { "c" } },
               *{ "X-Api-Key" => "k", "Cookie" => "s=1", "X-Tenant" => "t" }.map { |pair| { headers: [pair] } }]
    bodies = options.map { |one| http.get("/", one).body }
    assert_equal bodies.uniq, bodies
    assert_equal bodies, options.map { |one| http.get("/", one).body }
    assert_equal options.size, server.requests.size
  end

  def test_signers_are_never_mixed
    signer = Class.new do
      def sign(_request) = { "X-Signed" => "yes" }
      def retry?(_response) = false
    end
    server = serve_numbered { FRESH }
    store = Trunkline::Cache::Memory.new
    one, other = Array.new(2) { cached(server, store, auth: signer.new) }
    assert_equal %w[1 1 2 2], [one, one, other, other].map { |http| http.get("/").body[/\d/] }
  end

  def test_clients_share_a_store_but_not_what_differs
    server = serve_numbered { FRESH }
    store = Trunkline::Cache::Memory.new
    assert_equal %w[1 1], Array.new(2) { cached(server, store).get("/").body[/\d/] }
    assert_equal "2", cached(server, store, decode: false).get("/").body[/\d/]
    assert_equal "3", cached(server, store, connect_to: server.address).get("/").body[/\d/]
    assert_equal "4", cached(server, store).get("/", headers: { "Host" => "other.test" }).body[/\d/]
  end

  def test_variants
    server = serve_numbered { { **FRESH, "Vary" => "Accept-Language" } }
    http = cached(server)
    languages = ["de", "en, fr", nil]
    first, second = Array.new(2) { languages.map { |one| http.get("/", headers: { "Accept-Language" => one }) } }
    assert_equal [%w[uri-miss vary-miss vary-miss], [true] * 3],
                 [first.map { |one| one.cache.to_s[/fwd=([a-z-]+)/, 1] }, second.map { |one| one.cache.hit? }]
    assert_predicate http.get("/", headers: { "Accept-Language" => "EN,fr" }).cache, :hit?
    http.post("/", body: "x")
    assert_equal(%w[5 6 7], languages.map { |one| http.get("/", headers: { "Accept-Language" => one }).body[/\d/] })
  end

  # ---- other methods ----

  def test_unsafe_methods_invalidate_stored_responses
    server = serve_numbered do |request, _|
      case request.verb
      when "GET" then FRESH
      when "PUT" then { "Location" => "/b", "Content-Location" => "http://127.0.0.1:#{server_port(request)}/c" }
      else response_bytes("", status: "400 No")
      end
    end
    http = cached(server)
    keep = -> { %w[/a /b /c /d].map { |path| http.get(path).cache.hit? } }
    keep.call
    http.delete("/a")
    assert_equal [true] * 4, keep.call # the DELETE failed
    assert_equal "trunkline; fwd=method", http.put("/a", body: "x").cache.to_s
    assert_equal [false, false, false, true], keep.call
    http.put("/a", body: "x", bearer: "other")
    assert_equal [false, false, false, true], keep.call
  end

  def server_port(request) = request["Host"][/\d+\z/]

  def test_a_redirect_target_is_not_stored_for_the_redirecting_url
    server = serve_sequence("/a" => [redirect("/b", **FRESH)], "/b" => [response_bytes("b", **FRESH)])
    http = cached(server, follow: true)
    2.times { assert_equal "b", http.get("/a").body }
    assert_equal %w[/a /b /a /b], server.requests.map(&:target)
    assert_equal 302, http.get("/a", follow: false).status
    assert_predicate http.get("/a", follow: false).cache, :hit?
    assert_equal "b", http.get("/a").body
  end

  def test_a_response_without_framing_is_not_stored
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nConnection: close\r\n\r\npart"
    end
    http = cached(server)
    2.times { refute_predicate http.get("/").cache, :hit? }
  end

  def test_only_if_cached
    server = serve(response_bytes)
    response = cached(server).get("/", headers: { "Cache-Control" => "only-if-cached" })
    assert_equal [504, "", "trunkline; fwd=uri-miss"], [response.status, response.body, response.cache.to_s]
    assert_empty server.requests
  end

  def test_heuristic_freshness_with_an_option
    server = serve_numbered { { "Last-Modified" => (Time.now - 1000).httpdate } }
    http = cached(server, { heuristic: 0.1 })
    http.get("/")
    assert_equal ["trunkline; hit; ttl", "answer 1"], status_and_body(second = http.get("/"))
    assert_includes 60..100, second.cache.ttl
  end

  def test_counts_by_origin
    server = serve_numbered { |request, _| request["If-None-Match"] ? NOT_MODIFIED : TAGGED }
    http = cached(server)
    3.times { http.get("/") }
    http.get("/", headers: { "Cache-Control" => "max-stale" })
    assert_equal({ hits: 0, stale: 1, revalidated: 2, misses: 1, stored: 3 }, http.stats[:caches].fetch(server.address))
  end

  def test_listeners_get_cache_events
    server = serve_numbered { FRESH }
    http = cached(server)
    events = []
    subscription = Trunkline.on(:cache) do |event|
      events << [event.method, event.status, event.details[:status][/[^;]+; \S+/]]
    end
    http.get("/")
    http.get("/")
    http.post("/", body: "x")
    assert_equal [["GET", 200, "trunkline; stored;"], ["GET", 200, "trunkline; hit;"],
                  ["POST", 200, "trunkline; fwd=method"]], events
  ensure
    subscription&.off
  end

  # ---- with coalesce: ----

  def test_coalesced_calls_cause_one_request_and_one_write
    server = serve_numbered do |_, _|
      sleep 0.3
      FRESH
    end
    writes = 0
    store = Trunkline::Cache::Memory.new
    store.define_singleton_method(:write) { |*args, **options| (writes += 1) && super(*args, **options) }
    http = cached(server, store, coalesce: true)
    responses = Array.new(5) { Thread.new { http.get("/") } }.map(&:value)
    assert_equal ["answer 1"], responses.map(&:body).uniq
    assert_equal [1, 1, 4], [server.requests.size, writes, responses.count { |one| one.cache.collapsed? }]
    assert_predicate http.get("/").cache, :hit?
  end

  def test_validations_are_shared
    server = serve_numbered do |request, _|
      sleep 0.3
      request["If-None-Match"] ? NOT_MODIFIED : TAGGED
    end
    http = cached(server, coalesce: true)
    http.get("/")
    responses = Array.new(4) { Thread.new { http.get("/") } }.map(&:value)
    assert_equal [[200, "answer 1"]], responses.map { |one| [one.status, one.body] }.uniq
    assert_equal 2, server.requests.size
  end
end
