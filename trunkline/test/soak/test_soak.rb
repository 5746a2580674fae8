# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"
require_relative "page"
require_relative "servers"
require_relative "verdict"

# Runs a short soak, and tests the verdict: flat lines pass; rising lines and unexplained errors fail.
class TestSoak < TrunklineTest
  SECONDS = 12
  FLAT = { descriptors: 40, threads: 8, rss: 60 }.freeze
  RESTART = SoakServers::Event.new(:restart, 10.0, 13.0)

  def test_a_soak_run_of_some_seconds
    skip "fibers need the gem async, which cannot be installed here" unless defined?(Async::VERSION)
    program = File.join(__dir__, "soak.rb")
    command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, program, SECONDS.to_s]
    out, err, status = Subprocess.run_command({}, command)
    assert_predicate status, :success?, "#{out}#{err}"
    assert_match(/^trunkline: \d{3,} requests/, out)
  end

  def test_flat_lines_are_let_through
    assert_empty violations { FLAT }
  end

  SoakVerdict::RISE.each do |what, most|
    define_method(:"test_#{what}_that_rise_are_not") do
      assert_match(/#{what} rise by/, violations { |at| FLAT.merge(what => FLAT[what] + (at * most / 30.0)) }.join)
    end

    define_method(:"test_#{what}_that_rise_at_the_beginning_are") do
      assert_empty(violations { |at| FLAT.merge(what => FLAT[what] + ([at, 10].min * most)) })
    end
  end

  def test_errors_at_a_restart_are_let_through
    assert_empty violations(errors: [{ at: 11.0, error: "Trunkline::ConnectError", sent: "none" }]) { FLAT }
  end

  def test_errors_at_other_times_are_not
    assert_match(/without a restart: Trunkline::ConnectError/,
                 violations(errors: [{ at: 20.0, error: "Trunkline::ConnectError", sent: "none" }]) { FLAT }.join)
  end

  def test_a_request_reported_unsent_that_arrived_is_a_violation
    error = { at: 11.0, error: "Trunkline::ConnectError", sent: "none", id: "a-1" }
    assert_empty violations(errors: [error], arrived: ["a-2"]) { FLAT }
    assert_match(/a-1 was called unsent/, violations(errors: [error], arrived: ["a-1"]) { FLAT }.join)
  end

  def test_the_chart_is_that_of_the_results
    assert_equal SoakPage.chart, File.read(SoakPage::CHART), "rake soak:docs writes docs/images/soak.svg"
  end

  private

  def violations(errors: [], arrived: [])
    samples = Array.new(60) { |at| { at: at * 10.0, **yield(at) } }
    SoakVerdict.new(samples, errors, [RESTART], arrived.to_set).violations
  end
end
