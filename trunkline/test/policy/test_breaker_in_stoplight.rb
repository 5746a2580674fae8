# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/breaker_store_tests"

# The option breaker: { store: } with the lights of Stoplight.
class TestBreakerInStoplight < TrunklineTest
  include BreakerStoreTests

  NAME = "Stoplight"
  OUTAGE = BreakerStoreTests.outage_of(:run, :color)

  def setup
    skip "stoplight 6 needs Ruby 3.3" if RUBY_VERSION < "3.3"
    super
    require "stoplight"
    ::Stoplight::Domain::Light.prepend(OUTAGE)
  end

  @systems = 0

  # @return [String] a name for a system that no other test uses
  def self.new_name = "trunkline tests #{@systems += 1}"

  def settings
    @settings ||= begin
      system = ::Stoplight.register_system(self.class.new_name, notifiers: [])
      { store: Trunkline::Policy::Breaker::Stoplight.new(system), threshold: 0.5, cool_down: cool_down }
    end
  end

  # The light opens when half of at least 100 requests fail.
  def failures_to_open = 100

  def cool_down = 1

  def test_processes_share_what_a_system_knows
    server = serve_both
    http = client(server.url, breaker: settings)
    100.times { http.get("/bad") }
    light = settings[:store].circuit(server.address, Trunkline::Policy::Breaker::OPTIONS.read(settings))
    assert_equal :open, light.to_h(0.0)[:state]
    error = assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    assert_includes 0.0..1.0, error.retry_in
  end
end
