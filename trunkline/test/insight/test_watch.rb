# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"
require "faraday"
require "trunkline/insight"

# The calls that Insight.watch records, and its findings, over sockets.
class TestWatch < TrunklineTest
  include CallStyles

  DELAY = 0.06

  def setup
    super
    @http = client(slow_server.url)
  end

  def teardown
    Trunkline::Insight.clear
    super
  end

  # A server that responds to every request after DELAY.
  def slow_server
    @slow_server ||= serve_rack(threads: 20) do
      sleep DELAY
      [200, {}, ["ok"]]
    end
  end

  def host = "127.0.0.1:#{slow_server.port}"

  attr_reader :http

  def watching(...) = Trunkline::Insight.watch(...)

  def kinds(report) = report.findings.map(&:kind)

  def test_a_loop
    report = watching("OrdersController#index") do
      http.get("/users")
      14.times { |id| http.get("/users/#{id}") } # here
    end
    finding = report.findings.first
    line = File.readlines(__FILE__).index { |text| text.end_with?("# here\n") } + 1
    words = "OrdersController#index: 15 calls to #{host} one after another (GET /users/:id x 14), "

    assert_equal [:loop], kinds(report)
    assert report.to_s.start_with?(words), report.to_s
    assert_match(/ \d\.\d\d s of \d\.\d\d s\. Side by side: about 0\.\d+ s\. /, report.to_s)
    assert_includes report.to_s, " trunkline/test/insight/test_watch.rb:#{line} "
    assert_operator finding.seconds, :>=, 15 * DELAY
    assert_operator finding.of, :>=, finding.seconds
    assert_includes (DELAY * 2)..(finding.seconds / 2), finding.estimate
    assert_equal report.findings, Trunkline::Insight.report.findings
  end

  def test_calls_side_by_side_are_no_loop
    report = watching { http.map((1..6).map { |id| "/users/#{id}" }) }

    assert_equal 6, report.calls.size
    assert_empty report.findings
    assert_match(/: 6 calls, .+; nothing to improve\z/, report.to_s)
  end

  def test_two_calls_of_a_shape_are_a_loop_with_min_2
    calls = -> { 2.times { |id| http.get("/users/#{id}") } }

    assert_empty watching(&calls).findings
    assert_equal [:loop], kinds(watching(min: 2, &calls))
  end

  def test_writing_calls_are_a_loop_though_their_url_is_the_same
    report = watching { 3.times { |id| http.post("/users", json: { id: id }) } }

    assert_equal [:loop], kinds(report)
    assert_includes report.findings.first.advice, "if their order does not matter"
  end

  def test_the_same_url_again
    report = watching { 3.times { http.get("/settings?token=secret") } }

    assert_equal [:repeated], kinds(report)
    assert_includes report.to_s, "3 calls to #{host} for the same URL (GET /settings?token)"
    assert_match(/Asked once: about 0\.\d+ s/, report.to_s)
    refute_includes report.inspect + report.calls.inspect, "secret"
  end

  def test_other_credentials_are_no_repetition
    report = watching { %w[a b].each { |token| http.get("/me", bearer: token) } }

    assert_empty report.findings
  end

  def test_requests_with_different_headers_are_no_repetition
    fields = [%w[Range bytes=0-1], %w[Range bytes=2-3], %w[Accept text/csv], %w[Accept-Language fr], %w[Cookie a=1]]
    report = watching { fields.each { |name, value| http.get("/me", headers: { name => value }) } }

    refute_includes kinds(report), :repeated
  end

  # Loading ActiveRecord::Base could fail because its database is missing.
  def test_active_record_is_not_loaded_to_look_for_a_transaction
    ran = Subprocess.run(<<~RUBY, gems: nil)
      require "active_record"
      require "trunkline/insight"
      report = Trunkline::Insight.watch { Trunkline.get("#{serve.url}", timeout: 5) }
      p report.calls.size, ActiveRecord.autoload?(:Base).nil?
    RUBY

    assert_equal "1\nfalse\n", ran.out, ran.err
  end

  def test_a_cached_response_is_no_call
    server = serve(response_bytes("Cache-Control" => "max-age=60"))
    caching = client(server.url, cache: true)
    report = watching { 3.times { caching.get("/settings") } }

    assert_equal 1, report.calls.size
  end

  def test_every_call_style_is_reported
    each_call_style do |style, call|
      report = watching { call.call(http, :get, "/users/1") }
      assert_equal [["Trunkline", "GET /users/:id", 200, nil]],
                   report.calls.map { |one| one.to_h.values_at(:library, :shape, :status, :error) }, style
    end
  end

  def test_a_call_that_fails_and_a_block_that_raises
    port = refused_port
    seen = nil
    error = assert_raises(Trunkline::ConnectionError) do
      watching do
        seen = watching { result_of { client("http://127.0.0.1:#{port}").get("/") } }
        client("http://127.0.0.1:#{port}").get("/")
      end
    end

    assert_equal [error.class.name], seen.calls.map(&:error)
    assert_empty Trunkline::Instrument.probes.grep(Trunkline::Insight::Probe)
  end

  def test_template_names_the_shape
    report = watching { %w[ann bob].each { |name| http.get("/users/#{name}", template: "/users/:name") } }

    assert_equal ["GET /users/:name"], report.calls.map(&:shape).uniq
  end

  def test_an_inner_watch_sees_its_calls_and_the_outer_all
    inner = nil
    outer = watching do
      http.get("/a")
      inner = watching { http.get("/b") }
    end
    http.get("/c")

    assert_equal [["GET /b"], ["GET /a", "GET /b"]], [inner, outer].map { |report| report.calls.map(&:shape) }
  end

  def test_threads_do_not_see_each_other
    reports = %w[/a /b].map { |path| Thread.new { watching { 3.times { http.get(path) } } } }.map(&:value)

    assert_equal [["GET /a"], ["GET /b"]], reports.map { |report| report.calls.map(&:shape).uniq }
  end

  def test_net_http
    url = URI(slow_server.url)
    report = watching { 4.times { |id| Net::HTTP.get(url + "/users/#{id}") } }

    assert_equal %i[connections loop timeouts], kinds(report).sort
    assert_equal [["Net::HTTP", "GET /users/:id", 200]],
                 report.calls.map { |one| one.to_h.values_at(:library, :shape, :status) }.uniq
    assert_includes report.to_s, "3 of 4 calls to #{host} opened a connection again"
    assert_includes report.to_s, "4 calls to #{host} by Net::HTTP for which nobody chose a timeout " \
                                 "(open 60 s, each read 60 s)"
  end

  def test_net_http_that_is_kept_open_with_timeouts
    report = watching do
      Net::HTTP.start("127.0.0.1", slow_server.port, open_timeout: 1, read_timeout: 5) do |session|
        3.times { |id| session.get("/users/#{id}") }
      end
    end

    assert_equal [:loop], kinds(report)
  end

  def test_net_http_that_fails_or_has_no_timeout
    session = Net::HTTP.new("127.0.0.1", refused_port)
    session.open_timeout = session.read_timeout = nil
    report = watching { assert_raises(Errno::ECONNREFUSED) { session.get("/") } }

    assert_equal ["Errno::ECONNREFUSED"], report.calls.map(&:error)
    assert_includes report.to_s, "(none)"
  end

  def test_calls_of_the_net_http_facade_are_reported_once
    Trunkline::NetHTTP.install!
    report = watching { 3.times { |id| Net::HTTP.get(URI(slow_server.url("/users/#{id}"))) } }

    assert_equal ["Trunkline"] * 3, report.calls.map(&:library)
    assert_equal [:loop], kinds(report)
  ensure
    Trunkline::NetHTTP.uninstall!
  end

  def test_faraday_calls_are_reported_once_with_any_adapter
    stubs = ->(stub) { stub.get("/users/1") { [200, {}, ""] } }
    { net_http: "Net::HTTP", trunkline: "Trunkline", test: "Faraday" }.each do |adapter, library|
      require "faraday/adapter/trunkline" if adapter == :trunkline
      own = stubs if adapter == :test
      faraday = Faraday.new(slow_server.url, request: { timeout: 5 }) { |one| one.adapter(adapter, &own) }
      report = watching { faraday.get("/users/1") }
      faraday.close

      assert_equal [[library, "GET /users/:id", 200, nil]],
                   report.calls.map { |one| one.to_h.values_at(:library, :shape, :status, :timeout) }, adapter
    end
  end

  def test_faraday_in_parallel
    require "faraday/adapter/trunkline"
    faraday = Faraday.new(slow_server.url) { |one| one.adapter :trunkline }
    report = watching { faraday.in_parallel { 3.times { |id| faraday.get("/users/#{id}") } } }
    faraday.close

    assert_equal ["Trunkline"] * 3, report.calls.map(&:library)
    assert_empty report.findings
  end

  def test_no_probe_is_installed_without_a_watch
    http.get("/a")

    assert_nil Trunkline::Insight.current
    assert_empty Trunkline::Instrument.probes.grep(Trunkline::Insight::Probe)
  end

  def test_invalid_arguments_are_refused
    assert_raises(Trunkline::InvalidRequest) { watching("name") }
    assert_raises(Trunkline::InvalidRequest) { watching(min: 1) { nil } }
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Insight.sample = 2 }
  end

  # Compares the estimate with the time that a batch then takes: the fastest of several, since a busy machine delays
  # each.
  def test_the_estimate_holds
    server = serve_rack(threads: 10) { sleep(0.3) && [200, {}, ["ok"]] }
    http = client(server.url)
    paths = (1..8).map { |id| "/users/#{id}" }
    while_on_time do
      report = watching { paths.each { |path| http.get(path) } }
      seconds = Array.new(3) { watching { http.map(paths) }.seconds }.min

      assert_in_delta seconds, report.findings.first.estimate, seconds * 0.25
    end
  end
end
