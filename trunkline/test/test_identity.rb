# frozen_string_literal: true

require_relative "test_helper"
require "active_support"
require "active_support/deprecation"
require "faraday"
require "faraday/adapter/trunkline"
require "logger"

# The options app_name: and app_env:, required timeouts, and deprecations:.
class TestIdentity < TrunklineTest
  # The variables that Trunkline.configure sets, and the client of the module's own methods.
  CONFIGURED = %i[@defaults @client @pool_handle @logger @timeouts_required].freeze

  def setup
    @before = CONFIGURED.to_h { |name| [name, Trunkline.instance_variable_get(name)] }
    CONFIGURED.each { |name| Trunkline.instance_variable_set(name, nil) }
  end

  def teardown
    Trunkline.instance_variable_get(:@client)&.close
    @before.each { |name, value| Trunkline.instance_variable_set(name, value) }
  end

  def fields(server, *names) = server.requests.last.then { |request| names.map { |name| request[name] } }

  IDENTITY = %w[User-Agent X-App-Name X-App-Env].freeze
  OURS = "trunkline/#{Trunkline::VERSION}".freeze

  def environment(values)
    before = values.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(values)
    yield
  ensure
    ENV.update(before)
  end

  # ---- app_name: and app_env: ----

  def test_each_call_sends_the_application_name
    server = serve
    Trunkline.configure do |c|
      c.app_name = "web"
      c.app_env = "staging"
    end
    expected = ["web (staging) #{OURS}", "web", "staging"]
    http = client(server.url)
    calls = [-> { http.get("/") }, -> { http.post("/", json: {}) }, -> { Trunkline.get(server.url, timeout: 5) },
             -> { http.batch { |batch| batch.get("/") } }, -> { http.async.get("/").value! },
             -> { http.with(timeout: 3).get("/") }]
    calls.each do |call|
      call.call
      assert_equal expected, fields(server, *IDENTITY)
    end
  end

  def test_no_application_name_is_sent_by_default
    server = serve
    environment("RAILS_ENV" => "test", "RACK_ENV" => "test") { client(server.url).get("/") }
    assert_equal [OURS, nil, nil], fields(server, *IDENTITY)
  end

  def test_the_environment_is_that_of_rails_or_rack
    server = serve
    environment("RAILS_ENV" => nil, "RACK_ENV" => "production") { client(server.url, app_name: "web").get("/") }
    assert_equal ["web (production) #{OURS}", "web", "production"], fields(server, *IDENTITY)
    environment("RAILS_ENV" => "test", "RACK_ENV" => "production") { client(server.url, app_name: "web").get("/") }
    assert_equal "test", fields(server, "X-App-Env").first
    environment("RAILS_ENV" => nil, "RACK_ENV" => "") { client(server.url, app_name: "my web").get("/") }
    assert_equal ["my web #{OURS}", "my web", nil], fields(server, *IDENTITY)
  end

  def test_explicit_header_fields_take_precedence
    server = serve
    http = client(server.url, app_name: "web", app_env: "test", headers: { "User-Agent" => "own/1" })
    http.get("/", headers: { "X-App-Env" => nil })
    assert_equal ["own/1", "web", nil], fields(server, *IDENTITY)
  end

  def test_faradays_calls_say_it_too
    server = serve
    Trunkline.configure { |c| c.app_name = "web" }
    connection = Faraday.new(server.url) { |faraday| faraday.adapter :trunkline }
    connection.get("/")
    assert_equal ["Faraday v#{Faraday::VERSION}", "web"], fields(server, "User-Agent", "X-App-Name")
    connection.close
  end

  def test_names_that_cannot_be_sent
    ["", " web", "web\n", "web (1)", "b\u00fccher", :web, 1].each do |name|
      assert_raises(Trunkline::InvalidRequest, name.inspect) { client(app_name: name) }
    end
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline.configure { |c| c.app_env = "a\r\nb" } }
    assert_match(/\Aapp_env: must be a text of visible ASCII characters without parentheses, got /, error.message)
  end

  # ---- timeouts ----

  def test_required_timeouts
    server = serve
    Trunkline.configure do |c|
      c.timeout = 5
      c.require_timeouts
    end
    [-> { Trunkline.new(server.url) }, -> { Trunkline.get(server.url) },
     -> { Trunkline.map([server.url]) }].each do |call|
      error = assert_raises(Trunkline::MissingTimeout, &call)
      assert_match(/does not count with require_timeouts/, error.message)
    end
    assert_equal 200, client(server.url).get("/").status
    assert_equal 200, Trunkline.get(server.url, timeout: 5).status
    assert_equal 200, Trunkline.map([server.url], timeout: 5).first.status
    Trunkline.configure { |c| c.require_timeouts = false }
    assert_equal 200, Trunkline.get(server.url).status
  end

  def test_faraday_needs_a_timeout_too
    server = serve
    Trunkline.configure(&:require_timeouts)
    connection = Faraday.new(server.url) { |faraday| faraday.adapter :trunkline }
    error = assert_raises(Trunkline::MissingTimeout) { connection.get("/") }
    assert_match(/Trunkline.configure/, error.message)
    assert_equal 200, connection.get("/") { |request| request.options.timeout = 5 }.status
    connection.close
  end

  # ---- deprecations: ----

  # @return [Array] the deprecations that a client's handler receives for responses with these fields
  def deprecations(fields, path = "/users/31", **options)
    found = []
    http = client(serve(response_bytes(**fields)).url, deprecations: found.method(:<<), **options)
    2.times { http.get(path) }
    found
  end

  def test_deprecation_and_sunset
    found = deprecations({ "Deprecation" => "@1688169599", "Sunset" => "Sun, 30 Jun 2124 23:59:59 GMT",
                           "Link" => '</docs>; rel="deprecation", <https://docs.test/end>; rel="x sunset"' })
    assert_equal 1, found.size
    deprecation = found.first
    assert_match(%r{\AGET http://127\.0\.0\.1:\d+/users/:id\z}, deprecation.endpoint)
    assert_equal [Time.at(1_688_169_599), Time.utc(2124, 6, 30, 23, 59, 59)],
                 [deprecation.deprecated_at, deprecation.sunset_at]
    assert_equal 200, deprecation.response.status
    assert_match(/ is deprecated since 2023-06-30T23:59:59Z and may stop working after 2124-06-30T23:59:59Z /,
                 deprecation.to_s)
    assert_match(%r{ \(see http://127\.0\.0\.1:\d+/docs, https://docs\.test/end\)\z}, deprecation.to_s)
    assert_predicate deprecation, :frozen?
  end

  # fields => the text of the deprecation; nil: no deprecation
  ANNOUNCED = {
    { "Sunset" => "Sun, 06 Nov 2044 08:49:37 GMT" } => " may stop working after 2044-11-06T08:49:37Z",
    { "Sunset" => "Sunday, 06-Nov-44 08:49:37 GMT" } => " may stop working after 2044-11-06T08:49:37Z",
    { "Sunset" => "in autumn" } => " is deprecated",
    { "Deprecation" => "@4102444800;x=1" } => " is deprecated from 2100-01-01T00:00:00Z",
    { "Deprecation" => "true" } => " is deprecated",
    { "Deprecation" => "?1" } => " is deprecated",
    { "Deprecation" => 'version="v1"' } => " is deprecated",
    { "Deprecation" => "Sun, 11 Nov 2018 23:59:59 GMT" } => " is deprecated since 2018-11-11T23:59:59Z",
    { "Deprecation" => "false" } => nil,
    { "Deprecation" => "?0" } => nil,
    { "Deprecation" => "" } => nil,
    { "Link" => "<https://docs.test/end>; rel=sunset" } => " is deprecated (see https://docs.test/end)",
    { "Link" => "<https://docs.test/sunset>; rel=next" } => nil,
    { "Link" => "sunset" } => nil
  }.freeze

  def test_the_forms_of_the_fields
    ANNOUNCED.each do |fields, words|
      found = deprecations(fields)
      assert_equal [words].compact, found.map { |one| one.to_s.delete_prefix(one.endpoint) }, fields
    end
  end

  def test_once_for_each_endpoint
    found = []
    server = serve(response_bytes("Deprecation" => "true"))
    handler = ->(deprecation) { found << deprecation.endpoint.sub(server.url("").chomp("/"), "") }
    http = client(server.url, deprecations: handler)
    paths = %w[/users/1 /users/2?a=b /users/6ba7b810-9dad-11d1-80b4-00c04fd430c8 /users/me /v2/items/AbC-123456
               /v2/items/a1b2c3d4e5f6a7b8c9d0e1f2 /v2/items/x /users/1]
    paths.each { |path| http.get(path) }
    http.post("/users/7")
    http.with(timeout: 3).get("/users/8")
    client(server.url, deprecations: handler).get("/users/9") # reported once per process, not per client
    assert_equal ["GET /users/:id", "GET /users/me", "GET /v2/items/:id", "GET /v2/items/x", "POST /users/:id"], found
  end

  def test_deprecations_of_redirects_and_of_all_call_styles
    server = serve do |connection|
      while (request = connection.read_request)
        old = request.target.start_with?("/old")
        connection << (old ? redirect("/new", "Sunset" => "Sun, 06 Nov 2044 08:49:37 GMT") : response_bytes)
      end
    end
    found = []
    http = client(server.url, follow: true, deprecations: ->(deprecation) { found << deprecation.endpoint[/old\w/] })
    http.get("/olda")
    http.get("/oldb") { |_chunk| nil }
    http.batch { |batch| batch.get("/oldc") }
    http.map(["/oldd"])
    http.async.get("/olde").value!
    http.with(follow: false).batch { |batch| batch.get("/oldf") }
    assert_equal %w[olda oldb oldc oldd olde oldf], found
  end

  def test_deprecations_are_logged_when_the_application_has_a_name
    server = serve(response_bytes("Sunset" => "Sun, 06 Nov 2044 08:49:37 GMT"))
    log = StringIO.new
    Trunkline.configure do |c|
      c.app_name = "web"
      c.logger = Logger.new(log, formatter: ->(level, _, _, text) { "#{level} #{text}\n" })
    end
    2.times { client(server.url).get("/a") }
    client(server.url, deprecations: false).get("/b")
    client(server.url, app_name: nil).get("/c")
    assert_equal "WARN GET #{server.url("/a")} may stop working after 2044-11-06T08:49:37Z\n", log.string
  end

  def test_without_a_logger_ruby_warns
    server = serve(response_bytes("Deprecation" => "true"))
    _, warned = capture_io { client(server.url, deprecations: true).get("/") }
    assert_equal "GET #{server.url} is deprecated\n", warned
    assert_same Kernel, Trunkline.logger
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline.configure { |c| c.logger = "log" } }
    assert_match(/\Alogger: must be an object with #warn, or nil/, error.message)
  end

  def test_a_block_gets_deprecations
    found = []
    Trunkline.configure { |c| c.deprecations { |deprecation| found << deprecation.endpoint } }
    server = serve(response_bytes("Deprecation" => "true"))
    client(server.url).get("/")
    assert_equal ["GET #{server.url}"], found
    assert_raises(Trunkline::InvalidRequest) { Trunkline.configure(&:deprecations) }
  end

  def test_an_active_support_deprecator_gets_deprecations
    server = serve(response_bytes("Deprecation" => "true"))
    warned = []
    deprecator = ActiveSupport::Deprecation.new("2.0", "web")
    deprecator.behavior = ->(message, callers, *) { warned << [message, callers.first.path] }
    client(server.url, deprecations: deprecator).get("/")
    assert_match(/\ADEPRECATION WARNING: GET #{Regexp.escape(server.url)} is deprecated/, warned.first.first)
    assert_equal __FILE__, warned.first.last
  end

  def test_an_exception_of_a_deprecation_handler_is_raised_to_the_caller
    server = serve(response_bytes("Deprecation" => "true"))
    http = client(server.url, deprecations: ->(_) { raise KeyError, "old" })
    assert_raises(KeyError) { http.get("/a") }
    results = http.batch { |batch| %w[/b /a].each { |path| batch.get(path) } }
    assert_equal [KeyError, Trunkline::Response], results.map(&:class)
  end

  def test_an_invalid_deprecation_handler_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { client(deprecations: :log) }
    assert_match(/\Adeprecations: must be true for the logger, what is called with each Deprecation, /, error.message)
  end
end
