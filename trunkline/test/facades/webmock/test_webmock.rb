# frozen_string_literal: true

require_relative "../../test_helper"
require "trunkline/webmock"
require "vcr"
require "tmpdir"

# WebMock with Trunkline: stubs, history, callbacks, allowed connections; for single calls, streams and batches.
class TestWebMock < TrunklineTest
  include WebMock::API

  URL = "http://api.test/users"
  ADAPTER = WebMock::HttpLibAdapters::TrunklineAdapter

  def setup
    super
    WebMock.reset!
    WebMock.disable_net_connect!
    WebMock.enable!
  end

  def teardown
    WebMock.reset!
    WebMock::CallbackRegistry.reset
    WebMock.allow_net_connect!
    WebMock.disable!
    super
  end

  def ruby(program, *arguments)
    command = [RbConfig.ruby, "-I", Subprocess::LIB, "-e", program, *arguments]
    out, err, status = Subprocess.run_command({}, command)
    assert_predicate status, :success?, err
    out
  end

  def executed(method, url, **conditions)
    pattern = WebMock::RequestPattern.new(method, url)
    pattern.with(conditions) unless conditions.empty?
    WebMock::RequestRegistry.instance.times_executed(pattern)
  end

  def test_a_stub_gives_its_response
    stub_request(:get, URL).to_return(status: [201, "Made"], body: "hello", headers: { "X-A" => %w[1 2] })
    response = client.get(URL)
    assert_instance_of Trunkline::Response, response
    assert_equal [201, "Made", "hello", "1, 2"], [response.status, response.reason, response.body, response["X-A"]]
    assert_equal 1, executed(:get, URL)
  end

  def test_requests_are_matched_by_what_is_sent
    fields = { "Content-Type" => "application/json" }
    stub_request(:post, URL).with(body: { a: 1 }, headers: fields, basic_auth: %w[u p])
    assert_equal 200, client.post(URL, json: { a: 1 }, basic: %w[u p]).status
    assert_raises(WebMock::NetConnectNotAllowedError) { client.post(URL, json: { a: 2 }, basic: %w[u p]) }
    assert_raises(WebMock::NetConnectNotAllowedError) { client.post(URL, json: { a: 1 }) }
  end

  def test_streamed_bodies_are_matched_and_can_be_sent_again
    stub_request(:put, URL).with(body: "abcdef").to_return(status: 307, headers: { "Location" => "#{URL}/1" })
    stub_request(:put, "#{URL}/1").with(body: "abcdef").to_return(body: "kept")
    assert_equal "kept", client(follow: 1).put(URL, body: StringIO.new("abcdef")).body
  end

  def test_stubbed_responses_are_streamed
    stub_request(:get, URL).to_return(body: "0123456789" * 5_000)
    chunks = []
    assert_equal "", client.get(URL) { |chunk| chunks << chunk }.body
    assert_operator chunks.size, :>, 1
    assert_equal "0123456789" * 5_000, chunks.join
  end

  def test_timeouts
    stub_request(:get, URL).to_timeout
    assert_equal :all, assert_raises(Trunkline::TotalTimeout) { client.get(URL) }.sent
  end

  def test_raises
    stub_request(:get, URL).to_raise(Errno::EPROTO)
    assert_raises(Errno::EPROTO) { client.get(URL) }
  end

  def test_real_requests_are_refused_unless_allowed
    server = serve(response_bytes("real"))
    assert_raises(WebMock::NetConnectNotAllowedError) { client.get(server.url) }
    WebMock.disable_net_connect!(allow: server.url)
    assert_equal "real", client.get(server.url).body
    assert_raises(WebMock::NetConnectNotAllowedError) { client.get(URL) }
  end

  def test_callbacks_see_stubbed_and_real_responses
    server = serve(response_bytes("real", "X-A" => "1"))
    seen = []
    WebMock.after_request(real_requests_only: false) do |request, response|
      seen << [request.uri.port, response.status, response.body, (response.headers || {})["X-A"]]
    end
    stub_request(:get, URL).to_return(body: "stubbed")
    WebMock.allow_net_connect!
    client.get(URL)
    chunks = []
    client.get(server.url) { |chunk| chunks << chunk }
    assert_equal ["real"], chunks
    assert_equal [[80, [200, ""], "stubbed", nil], [server.port, [200, "OK"], "real", "1"]], seen
  end

  def test_batches
    server = serve(response_bytes("real"))
    WebMock.disable_net_connect!(allow: server.address)
    seen = []
    WebMock.after_request { |request, response| seen << [request.uri.path, response.body] }
    stub_request(:get, URL).to_return(body: "stubbed")
    stub_request(:get, "#{URL}/slow").to_timeout
    results = client.batch { |batch| [URL, "#{URL}/slow", server.url("/x")].each { |url| batch.get(url) } }
    assert_equal %w[stubbed real], [results[0].body, results[2].body]
    assert_kind_of Trunkline::TotalTimeout, results[1]
    assert_equal [["/users", "stubbed"], ["/x", "real"]], seen.sort
    assert_raises(WebMock::NetConnectNotAllowedError) { client.batch { |batch| batch.get("#{URL}/none") } }
  end

  def test_batches_of_only_real_calls
    server = serve(response_bytes("real"))
    WebMock.disable_net_connect!(allow: server.address)
    2.times do
      assert_equal %w[real real], client.batch { |batch| 2.times { batch.get(server.url) } }.map(&:body)
      WebMock.after_request { |request| request }
    end
    stub_request(:get, URL).to_raise(Errno::EPROTO)
    assert_kind_of Errno::EPROTO, client.batch { |batch| batch.get(URL) }.first
  end

  def test_a_future_of_a_call_that_is_not_allowed
    stub_request(:get, URL).to_return(body: "stubbed")
    futures = [client.async.get("#{URL}/none"), client.async.get(URL)]
    assert_raises(WebMock::NetConnectNotAllowedError) { futures[0].value! }
    assert_equal "stubbed", futures[1].value!.body, "the others' thread is alive"
    assert_raises(WebMock::NetConnectNotAllowedError) { client(follow: 1).async.get("#{URL}/none").value! }
    assert_raises(WebMock::NetConnectNotAllowedError) { client.map(["#{URL}/none"]) }
  end

  def test_a_disabled_adapter_is_not_active
    server = serve(response_bytes("real"))
    stub_request(:get, server.url).to_return(body: "stubbed")
    assert_equal "stubbed", client.get(server.url).body
    WebMock.disable!
    assert_equal "real", client.get(server.url).body
    WebMock.enable!(except: [:trunkline])
    assert_equal "real", client.get(server.url).body
    WebMock.enable!
    assert_equal "stubbed", client.get(server.url).body
  end

  def test_enabling_twice_calls_webmock_once
    3.times { ADAPTER.enable! }
    stub_request(:get, URL)
    client.get(URL)
    assert_equal 1, executed(:get, URL)
    2.times { ADAPTER.disable! }
    refute_includes Trunkline::Interception.active, ADAPTER
  end

  # The adapter is registered in any order of the requires; each order runs in a separate process.
  ORDERS = {
    "webmock first" => 'require "webmock"; WebMock.enable!; require "trunkline"',
    "trunkline first" => 'require "trunkline"; require "webmock"; WebMock.enable!',
    "enabled later" => 'require "trunkline"; require "webmock"; Trunkline.new(timeout: 1); WebMock.enable!'
  }.freeze

  ORDERS.each do |name, program|
    define_method(:"test_loaded_by_itself_with_#{name.tr(" ", "_")}") do
      out = ruby(<<~RUBY)
        #{program}
        include WebMock::API
        stub_request(:get, "#{URL}").to_return(body: "stubbed")
        puts Trunkline.new(timeout: 1).get("#{URL}").body
      RUBY
      assert_equal "stubbed", out.strip
    end
  end

  FACES = {
    faraday: ["trunkline/faraday", "Faraday.new(URL) { |builder| builder.adapter :trunkline }.get.body"],
    typhoeus: ["trunkline/typhoeus", "Typhoeus.get(URL).body"],
    hydra: ["trunkline/typhoeus", "hydra = Typhoeus::Hydra.new; hydra.queue(request = Typhoeus::Request.new(URL)); " \
                                  "hydra.run; request.response.body"],
    net_http: ["trunkline/persistent_http_client",
               "Trunkline::PersistentHttpClient.get(URL).request(Net::HTTP::Get.new(URI(URL))).body"]
  }.freeze

  FACES.each do |name, (file, call)|
    define_method(:"test_the_face_of_#{name}") do
      out = ruby(<<~RUBY)
        require "webmock"
        require "#{file}"
        include WebMock::API
        WebMock.enable!
        URL = "#{URL}"
        stub_request(:get, URL).to_return(body: "stubbed")
        puts(begin #{call} end)
      RUBY
      assert_equal "stubbed", out.strip
    end
  end

  INSTALL = "require \"trunkline/net_http\"; Trunkline::NetHTTP.install!\n"
  NET_HTTP = <<~RUBY
    include WebMock::API
    PORT = Integer(ARGV[0])
    reported = []
    WebMock.enable!
    WebMock.allow_net_connect!
    WebMock.after_request { |request, response| reported << [request.method, response.body] }
    Net::HTTP.get(URI("http://127.0.0.1:\#{PORT}/a"))
    Net::HTTP.post(URI("http://127.0.0.1:\#{PORT}/a"), "b")
    reported << WebMock::RequestRegistry.instance.requested_signatures.hash.values
    [true, false].each do |at_start|
      WebMock.allow_net_connect!(net_http_connect_on_start: at_start)
      Net::HTTP.start("127.0.0.1", PORT, read_timeout: 7) do |http|
        reported << http.ipaddr << http.instance_variable_get(:@socket).class.ancestors.include?(Net::BufferedIO)
        http.get("/b")
        reported << http.instance_variable_get(:@socket).read_timeout
      end
    end
    stub_request(:get, "http://127.0.0.1:\#{PORT}/stub").to_return(body: "stubbed")
    reported << Net::HTTP.get(URI("http://127.0.0.1:\#{PORT}/stub"))
    WebMock.enable!(except: [:net_http])
    reported << Net::HTTP.get(URI("http://127.0.0.1:\#{PORT}/stub"))
    p reported
  RUBY

  def test_net_http_is_seen_once_and_by_its_own_adapter
    server = serve(response_bytes("real"))
    plain, *others = ["", INSTALL, nil].map do |install|
      parts = install ? [install, "require \"webmock\""] : ["require \"webmock\"", INSTALL]
      ruby([*parts, NET_HTTP].join("\n"), server.port.to_s)
    end
    assert_includes plain, '[:get, "real"], [:post, "real"], [1, 1]'
    others.each { |reported| assert_equal plain, reported }
  end

  def test_trunkline_stubs_respond_to_net_http
    out = ruby(<<~RUBY)
      #{INSTALL}
      require "webmock"
      require "trunkline/stubs"
      WebMock.enable!
      WebMock.allow_net_connect!
      Trunkline::Stubs.new.enable.get("#{URL}").answer(body: "ours")
      puts Net::HTTP.get(URI("#{URL}"))
    RUBY
    assert_equal "ours", out.strip
  end

  def test_without_webmock_nothing_is_loaded
    out = ruby(<<~RUBY)
      require "trunkline"
      Trunkline.new(timeout: 1)
      puts [defined?(Trunkline::Interception), Trunkline::Engine.singleton_class.ancestors.first].inspect
    RUBY
    assert_equal "[nil, #<Class:Trunkline::Engine>]", out.strip
  end

  def test_vcr_records_and_plays_back
    server = serve(response_bytes("recorded", "Content-Type" => "text/plain"))
    Dir.mktmpdir do |folder|
      VCR.configure do |vcr|
        vcr.cassette_library_dir = folder
        vcr.hook_into :webmock
      end
      url = server.url("/tape")
      recorded = VCR.use_cassette("one") { client.get(url).body }
      server.stop
      played = VCR.use_cassette("one", record: :none) { client.get(url) }
      assert_equal %w[recorded recorded], [recorded, played.body]
      assert_equal "text/plain", played["content-type"]
    end
  ensure
    VCR.turn_off! if defined?(VCR)
    WebMock.reset!
  end
end
