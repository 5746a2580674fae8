# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/stubs"

# The errors about arguments that a method does not accept name the arguments that it accepts.
class TestArguments < TrunklineTest
  # name => [a call, then texts in the message of its InvalidRequest]
  REFUSED = {
    async_options: [->(http) { http.async(timeout: 5) }, "async.get(url, timeout: ...)", "with(timeout: ...)"],
    async_url: [->(http) { http.async("/secret") }, "client.async.get(url, timeout: 5)"],
    async_of_process: [->(_) { Trunkline.async(bearer: "secret") }, "client.with(bearer: ...).async"],
    async_call: [->(http) { http.async.get("/", "secret") }, "options: must be keywords", "json:"],
    third: [->(http) { http.post("/", { a: 1 }, { "X-Key" => "secret" }) }, "a URL and options, got Hash", "headers:"],
    third_of_a_future: [->(http) { http.async.put("/", {}, {}) }, "a URL and options", "body:"],
    third_in_a_batch: [->(http) { http.batch { |batch| batch.get("/", {}, {}) } }, "a URL and options", "params:"],
    third_of_process: [->(_) { Trunkline.get("http://a.test", {}, {}) }, "a URL and options"],
    text: [->(http) { http.post("/", "secret=1") }, "options: must be keywords", "body:"],
    hash: [->(http) { http.post("/", { id: "secret" }) }, "the nearest are", "json:, form:"],
    headers: [->(http) { http.get("/", headers: "X-Key: secret") }, "headers: must be a Hash", "a String of 13"],
    headers_of_a_future: [->(http) { http.async.get("/", headers: 5) }, "headers: must be a Hash"],
    headers_in_a_batch: [->(http) { http.batch { |batch| batch.get("/", headers: false) } }, "headers: must be a Hash"],
    headers_of_events: [->(http) { http.events("/", headers: "X-Key: secret") { nil } }, "headers: must be a Hash"],
    headers_of_a_download: [->(http) { http.download("/", to: "file", headers: 5) }, "headers: must be a Hash"],
    bearer: [->(http) { http.get("/", bearer: false) }, "bearer: must be a String"],
    basic: [->(http) { http.get("/", basic: 1..2) }, "basic: must be [user, password]"],
    basic_in_a_batch: [->(http) { http.batch { |batch| batch.get("/", basic: false) } }, "basic: must be [user"],
    with: [->(http) { http.with("secret") }, "options: must be keywords, such as timeout: 2"],
    with_nil: [->(http) { http.with(nil) }, "options: must be keywords"],
    new: [->(_) { Trunkline.new("http://a.test", 5) }, "options: must be keywords, such as timeout: 2, got 5"],
    client: [->(_) { Trunkline::Client.new("http://a.test", timeout: 5) }, "made by Trunkline.new("],
    configure: [->(_) { Trunkline.configure(timeout: 5) }, "{ |defaults| defaults.timeout = 5 }"],
    configure_nothing: [->(_) { Trunkline.configure }, "takes a block"],
    configure_other: [->(_) { Trunkline.configure { |all| all.timeouts = 5 } }, "the nearest are timeout:"],
    configure_theirs: [->(_) { Trunkline.configure { |all| all.open_timeout = 5 } }, "timeout: { connect: 2 }"],
    map_of_process: [->(_) { Trunkline.map([], concurency: 5) }, "the nearest are concurrency:"],
    each_of_process: [->(_) { Trunkline.each([], workers: 5) { nil } }, "instead: concurrency:"],
    add: [->(http) { http.batch { |batch| batch.add(:get, "/secret") } }, "[:get, url, { timeout: 5 }]"],
    all: [->(_) { Trunkline::Future.all([], timeout: 5) }, "all: has no option :timeout", "cancel:", ".value(5)"],
    any: [->(_) { Trunkline::Future.any(Trunkline::Future.new, cancel: "yes") }, "cancel: must be true or false"],
    race: [->(_) { Trunkline::Future.race([], wait: 5) }, "race: has no option :wait"],
    rescue: [->(_) { Trunkline::Future.new.rescue("TimeoutError") { nil } }, "classes of errors"],
    stub: [->(_) { Trunkline::Stubs.new.get("http://a.test", with: {}) }, "option :with", "headers: and body:"],
    stub_response: [->(_) { Trunkline::Stubs.new.get.answer(status: 404) }, "no option :status", "answer(404)"],
    stubs_use: [->(_) { Trunkline::Stubs.use }, "needs a block"],
    record: [->(_) { Trunkline.record { nil } }, "the path of a file", "got nil"],
    download: [->(http) { http.download("/", "file") }, "a URL, the path of a file as to:"],
    download_nowhere: [->(http) { http.download("/") }, "to: must be the path of a file, got nil"],
    part: [->(_) { Trunkline::Part.new("secret", type: "text/csv") }, "filename:, content_type: and headers:"],
    part_type: [->(_) { Trunkline::Part.new("secret", "text/csv") }, "content_type:"]
  }.freeze

  REFUSED.each do |name, (call, *expected)|
    define_method(:"test_#{name}") do
      message = assert_raises(Trunkline::InvalidRequest) { call.call(client("http://127.0.0.1:9")) }.message
      expected.each { |words| assert_includes message, words }
      refute_includes message, "secret"
    end
  end

  def test_a_rate_of_false_is_none
    server = serve { |connection| connection << response_bytes if connection.read_request }
    assert_equal [200], client(server.url).map(["/"], rate: false).map(&:status)
  end

  def test_arguments_of_response_methods
    server = serve { |connection| connection << response_bytes if connection.read_request }
    response = client(server.url).get("/")
    [1.5, { chunk: 1 }].each do |length|
      error = assert_raises(TypeError) { response.read(length) }
      assert_match(/a number of bytes, or a String to read into/, error.message)
    end
    assert_raises(Trunkline::InvalidRequest) { response.each_event(limits: 5) { nil } }
  end

  def test_options_without_a_url_are_those_of_a_call_to_the_base
    server = serve { |connection| connection << response_bytes while connection.read_request }
    http = client(server.url("/base"))
    http.get(params: { n: 1 })
    http.async.get(params: { n: 2 }).value!
    http.batch { |batch| batch.get(params: { n: 3 }) }.each(&:ok?)
    assert_equal (1..3).map { |n| "/base?n=#{n}" }, server.requests.map(&:target)
  end
end
