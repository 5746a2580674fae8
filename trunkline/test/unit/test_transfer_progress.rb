# frozen_string_literal: true

require_relative "../support/unit_test"
require "stringio"
require "trunkline/transfer_progress"
require "trunkline/transfer_progress/bar"
require "ruby-progressbar"
require "tty-progressbar"

class TestTransferProgress < UnitTest
  Progress = Trunkline::TransferProgress

  # A terminal that keeps its output.
  class Terminal < StringIO
    def tty? = true
    def winsize = [24, 100]
  end

  def test_lines
    { [0, 10_000_000, 0.0, nil] => "0 B of 10.0 MB, 0 %, 0 B/s",
      [999, nil, 1.4, nil] => "999 B, 1 B/s",
      [1_500_000, 3_000_000, 250_000.0, 5.2] => "1.5 MB of 3.0 MB, 50 %, 250.0 kB/s, 6 s left",
      [0, 0, 0.0, 0.0] => "0 B of 0 B, 100 %, 0 B/s",
      [2 * (10**18), nil, 0.0, nil] => "2000.0 PB, 0 B/s" }.each do |(bytes, total, rate, eta), line|
      progress = Progress.new(bytes: bytes, total: total, rate: rate, eta: eta)
      assert_equal line, progress.to_s
      assert_predicate progress, :frozen?
    end
  end

  def test_rate_and_eta
    reported = []
    reporter = Progress::Reporter.new(reported.method(:<<))
    reporter.call(0, 4000, false)
    sleep 0.1
    reporter.call(1000, 4000, false)
    reporter.call(4000, 4000, true)
    assert_equal [0.0, nil], [reported[0].rate, reported[0].eta]
    assert_in_delta 5000, reported[1].rate, 5000
    assert_in_delta 3000 / reported[1].rate, reported[1].eta, 0.001
    assert_equal 0.0, reported[2].eta
  end

  def test_no_reporter_without_a_terminal
    assert_nil Progress::Reporter.for(true, output: StringIO.new)
    assert_nil Progress::Reporter.for(nil, output: Terminal.new)
    assert_nil Progress::Reporter.for(false, output: Terminal.new)
  end

  def test_a_bar_is_that_of_the_gem
    reporter = Progress::Reporter.for(true, output: terminal = Terminal.new)
    reporter.call(0, 2_500_000, false)
    reporter.call(2_500_000, 2_500_000, true)
    assert_match(/\[=+\] 2\.5 MB of 2\.5 MB, 100 %/, terminal.string)
    assert_instance_of Progress::Bar::TTYBar, Progress::Bar.on(terminal)
  end

  BARS = { line: Progress::Bar::Line, tty_progressbar: Progress::Bar::TTYBar,
           ruby_progressbar: Progress::Bar::RubyBar }.freeze

  BARS.each do |name, bar|
    define_method(:"test_a_bar_by_#{name}") do
      [10_000_000, nil, 0].each do |total|
        drawn = drawn(bar, total)
        assert_includes drawn, "0 B#{" of #{Progress.size(total)}" if total}", total.inspect
        assert_match(%r{#{total.nil? ? "6.0 MB" : "100 %"}, 1\.0 MB/s *\n\z}, drawn, total.inspect)
      end
    end
  end

  private

  # Draws twice from the beginning, as when a body is sent again. ruby-progressbar draws at most a hundred times a
  # second.
  def drawn(bar, total)
    terminal = Terminal.new
    bar = bar.new(terminal)
    [0, total ? total / 2 : 3_000_000, 0, total || 6_000_000].each do |bytes|
      bar.show(Progress.new(bytes: bytes, total: total, rate: 1_000_000.0, eta: nil))
    end
    bar.finish
    terminal.string
  end
end
