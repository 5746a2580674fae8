# frozen_string_literal: true

require_relative "test_helper"

# docs/limits.md lists every limit of the code by name and value.
class TestLimitsPage < TrunklineTest
  PAGE = File.read(File.expand_path("../../docs/limits.md", __dir__))
  ROWS = PAGE.scan(/^\| `(\w+)` \| ([^|]+) \|/).to_h { |name, value| [name.to_sym, value.sub(/ \(.*| s\z/, "")] }.freeze

  def test_every_limit_is_on_the_page_and_nothing_else
    absent = Trunkline::Engine::HTTP2 ? [] : ROWS.keys.grep(/\Ahttp2_/)
    absent << :tls_stores if Trunkline::ENGINE == :ruby # each of its TLS contexts has its own certificates
    assert_equal (ROWS.keys - absent).sort, bounds.keys.sort
  end

  def test_the_page_lists_the_values_of_all_limits
    bounds.except(:timeout, :max_connections).each do |name, value|
      assert_equal value, Float(ROWS.fetch(name).delete(",")), "#{name} is #{ROWS.fetch(name)} on the page"
    end
    assert_equal "half of RLIMIT_NOFILE", ROWS.fetch(:max_connections)
    assert_equal Process.getrlimit(:NOFILE).first / 2, bounds[:max_connections]
  end

  def test_every_option_that_is_a_limit_is_on_the_page
    options = Trunkline::Options::NAMES.grep(/\Amax_|_timeout\z/) - %i[max_tls tcp_user_timeout]
    assert_equal [:timeout, *options].sort, Trunkline::Options::LIMITS.sort
    assert_empty (Trunkline::Options::LIMITS + Trunkline::Options::PROCESS_LIMITS) - ROWS.keys
  end

  def test_stats_report_the_limits_of_the_client
    http = client("http://127.0.0.1:1", timeout: { connect: 1, total: 9 }, max_body_bytes: nil, max_headers: 7,
                                        max_idle: 3)
    bounds = http.stats.bounds
    assert_equal [nil, 7, 3], bounds.values_at(:max_body_bytes, :max_headers, :max_idle)
    assert_equal({ connect: 1.0, total: 9.0 }, bounds[:timeout].compact)
    assert_equal bounds, http.stats[:bounds]
  end

  def test_the_security_page_lists_all_limits_in_one_table
    require_relative "../../rakelib/support/security_limits"
    page = File.read(SecurityLimits::PAGE)
    assert_equal SecurityLimits.page, page, "rake safety:docs writes SECURITY.md's table"
    assert_equal ROWS.keys, page.scan(/^\| `(\w+)` \|/).flatten.map(&:to_sym)
  end

  def test_the_timeouts_page_names_the_default
    page = File.read(File.expand_path("../../docs/timeouts.md", __dir__))
    assert_includes page, "#{Trunkline::Timeouts::DEFAULT.to_i} s for each phase"
  end

  private

  # The limits of a client with default options, which shares the connections of the process.
  def bounds = Trunkline.new("http://127.0.0.1:1", timeout: 5).stats.bounds
end
