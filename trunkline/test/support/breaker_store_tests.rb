# frozen_string_literal: true

require "logger"
require "stringio"
require_relative "call_styles"

# Tests of a breaker's store:, with the real gem. The class defines NAME, OUTAGE, settings, failures_to_open, and
# cool_down in seconds.
module BreakerStoreTests
  include CallStyles

  BROKEN = Responses.response_bytes("", status: "500 Broken")

  # Returns a module to prepend to a class of the gem, which makes these methods raise while `down` is set.
  def self.outage_of(*names)
    Module.new do
      singleton_class.attr_accessor :down
      outage = self
      names.each do |name|
        define_method(name) do |*arguments, **options, &block|
          outage.down ? raise("the store is down") : super(*arguments, **options, &block)
        end
      end
    end
  end

  def failing(outage)
    outage.down = true
    yield
  ensure
    outage.down = false
  end

  def setup
    super
    @log = StringIO.new
    Trunkline.configure { |defaults| defaults.logger = Logger.new(@log) }
  end

  def teardown
    super
    Trunkline.configure { |defaults| defaults.logger = nil }
    Trunkline::Policy::State.clear
  end

  def serve_both
    serve do |connection|
      while (request = connection.read_request)
        sleep 0.3 if request.target == "/slow"
        connection << (request.target == "/bad" ? BROKEN : response_bytes)
      end
    end
  end

  def state(server, http) = http.stats[:breakers].dig(server.address, :state)

  def test_the_breaker_opens_refuses_and_closes
    each_call_style do |style, call|
      server = serve_both
      http = client(server.url, breaker: settings)
      failures_to_open.times do |before|
        assert_equal :closed, state(server, http), style if before.positive?
        assert_equal 500, call.call(http, :get, "/bad").status, style
      end
      seen = server.requests.size
      error = call.call(http, :get, "/")
      assert_instance_of Trunkline::BreakerOpen, error, style
      assert_equal %i[none queue], [error.sent, error.phase]
      assert_match(/the breaker of #{server.address} is open, since .*#{self.class::NAME}/, error.message)
      assert_equal [:open, seen], [state(server, http), server.requests.size], style
    end
  end

  def test_the_breaker_closes_after_a_success
    server = serve_both
    http = client(server.url, breaker: settings)
    failures_to_open.times { http.get("/bad") }
    assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    sleep cool_down + 0.1
    assert_equal 200, http.get("/").status
    assert_equal :closed, state(server, http)
  end

  def test_a_connection_that_is_refused_is_a_failure
    http = client("http://127.0.0.1:#{refused_port}", breaker: settings)
    failures_to_open.times { assert_raises(Trunkline::ConnectError) { http.get("/") } }
    error = assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    assert_nil error.cause
  end

  def test_calls_that_the_caller_ends_are_not_counted
    server = serve_both
    http = client(server.url, breaker: settings)
    failures_to_open.times do
      assert_raises(Trunkline::DeadlineExceeded) { Trunkline.deadline(0.05) { http.get("/slow") } }
    end
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { http.get("/slow") } }
    assert_equal 200, http.get("/").status
    assert_equal :closed, state(server, http)
  end

  def test_a_store_that_fails_fails_no_call
    each_call_style do |style, call|
      server = serve_both
      http = client(server.url, breaker: settings)
      failing(self.class::OUTAGE) do
        results = %w[/ /bad / /].map { |path| call.call(http, :get, path).status }
        assert_equal [200, 500, 200, 200], results, style
        assert_equal 4, server.requests.size, style
        assert_nil state(server, http)
      end
    end
    assert_match(/the breaker of [\d.:]+ is not in use: .* failed with RuntimeError: the store is down/, @log.string)
    assert_equal CallStyles::CALL_STYLES.size, @log.string.lines.size # once for each origin
  end

  def test_settings_that_have_no_effect_are_refused
    error = assert_raises(Trunkline::InvalidRequest) { client(breaker: { **settings, minimum: 5 }) }
    assert_match(/breaker: minimum: has no effect with a store: of Trunkline::Policy::Breaker::#{self.class::NAME}/,
                 error.message)
  end
end
