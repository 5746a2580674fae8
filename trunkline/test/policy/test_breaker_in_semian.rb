# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/breaker_store_tests"

# The option breaker: { store: } with the circuit breakers of Semian.
class TestBreakerInSemian < TrunklineTest
  include BreakerStoreTests

  NAME = "Semian"
  OUTAGE = BreakerStoreTests.outage_of(:[])

  def setup
    super
    require "semian"
    ::Semian.singleton_class.prepend(OUTAGE)
    ::Semian.logger = Logger.new(IO::NULL)
  end

  def teardown
    super
    ::Semian.reset!
  end

  def settings
    @settings ||= { store: Trunkline::Policy::Breaker::Semian.new(success_threshold: 1, error_threshold: 3,
                                                                  error_timeout: cool_down) }
  end

  def failures_to_open = 3

  def cool_down = 1

  def test_semian_subscribers_see_the_resource
    seen = []
    ::Semian.subscribe(:test) { |event, resource, *| seen << [event, resource.name] }
    server = serve_both
    client(server.url, breaker: settings).get("/")
    assert_includes seen, [:success, "trunkline_#{server.address.tr(":", "_")}"]
  ensure
    ::Semian.unsubscribe(:test)
  end

  def test_a_bulkhead_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline::Policy::Breaker::Semian.new(tickets: 3) }
    assert_match(/tickets: belongs to a bulkhead/, error.message)
  end
end
