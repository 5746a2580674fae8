# frozen_string_literal: true

require_relative "test_helper"
require "io/console"
require "pty"
require "stringio"
require "trunkline/bulk/progress/live"

# The display of a run's progress.
class TestProgress < BulkTest
  Bulk = Trunkline::Bulk

  def status(**more)
    run = { id: 1, key: "T/run", state: :running, total: 4_000, cut: 4_000, cut_all: true, counts: { "200" => 980 },
            done: 980, failed: 20, slices: 3, reports: [], began: Time.now - 10, ended: nil, **more }
    Bulk::RunStatus.new("run", Bulk::State::Run.new(**run))
  end

  def report(in_flight: 50, rate: 500.0, slowest: [])
    { "in_flight" => in_flight, "rate" => rate, "slowest" => slowest }
  end

  def test_the_status_adds_up_what_processes_do_now
    two = [report(slowest: [["http://a.test", 10, 1.0], ["http://b.test", 1, 0.1]]),
           report(in_flight: 7, rate: 250.0, slowest: [["http://a.test", 30, 2.0]])]
    now = status(reports: two)
    assert_equal [57, 750.0, 4.0], [now.in_flight, now.rate, now.eta]
    assert_equal [["http://a.test", 40, 1.75], ["http://b.test", 1, 0.1]], now.slowest_origins.map(&:to_a)
    assert_equal "run: running, 980 done, 20 failed of 4000, 750.0/s, 57 in flight, 4 s left, slowest http://a.test " \
                 "1.750 s (200: 980)", now.to_s
    assert_in_delta 100, status.rate, 5
    assert_equal [0, []], status(state: :done, reports: two).then { [_1.in_flight, _1.slowest_origins] }
  end

  # The lines of each view. A view must begin where the previous one began.
  def views(text)
    before = 0
    text.scan(/(?:\e\[(\d+)A\e\[1G)?((?:[^\n]*\n)+?)\e\[J/).map do |up, view|
      lines = view.gsub(/\e\[\d*[mK]/, "").lines(chomp: true)
      assert_equal before, up.to_i
      before = lines.size
      lines
    end
  end

  # The views on a terminal of that size, of one status after another.
  def shown_on_terminal(rows, columns, *statuses)
    PTY.open do |terminal, output|
      output.winsize = [rows, columns]
      live = Bulk::Progress::Live.new(output)
      statuses.each { |one| live.call(one) }
      output.close
      text = +""
      begin
        loop { text << terminal.readpartial(65_536) }
      rescue EOFError, Errno::EIO
        views(text)
      end
    end
  end

  # @return [String] what a program has written to a terminal
  def on_terminal(code)
    text = +""
    PTY.spawn(RbConfig.ruby, *Programs::PATHS, "-e", "require \"trunkline/bulk\"; #{code}") do |output, input, pid|
      input.winsize = [24, 80]
      loop { text << output.readpartial(65_536) }
    rescue EOFError, Errno::EIO
      Process.wait(pid)
    end
    text
  end

  BUSY = [["https://slow.test", 3, 2.5], ["https://#{"long." * 30}test", 3, 1.25],
          ["http://c.test\e[2J", 1, 0.5]].freeze

  def test_a_live_view
    now = status(counts: { "200" => 980, "ConnectError" => 20 }, reports: [report(rate: 1_500.0, slowest: BUSY)])
    view = shown_on_terminal(24, 80, status, now).last
    assert_match(%r{\Arun  \[=+ +\]  25 %  1,000/4,000  ETA 0:00:02\z}, view[0])
    assert_equal ["1,500/s  50 in flight  20 failed", "200: 980  ConnectError: 20", "slowest origins",
                  "    2.500 s  https://slow.test"], view[1..4]
    assert_match(%r{\A    1\.250 s  https://long\.}, view[5])
    assert_equal "    0.500 s  http://c.test?[2J", view[6]
    assert_equal 7, view.size
  end

  def test_small_terminals_are_not_overrun
    counts = Array.new(30) { |number| [(400 + number).to_s, 1_000 - number] }.to_h
    now = status(counts: counts, reports: [report(slowest: BUSY)])
    [[24, 40], [5, 80], [4, 20], [2, 5], [24, 132]].each do |rows, columns|
      shown = shown_on_terminal(rows, columns, now, now, now)
      assert_equal [shown[0]] * 3, shown
      assert_operator shown[0].size, :<=, rows - 1
      assert_operator shown[0].map(&:size).max, :<, columns
    end
  end

  def test_a_view_without_a_total_and_of_a_run_that_is_over
    shown = shown_on_terminal(24, 80, status(total: nil), status(state: :paused), status(state: :done, done: 3_980))
    assert_equal ["run  1,000  ETA -", "paused", "done"], [shown[0][0], *shown[1..].map { |view| view[0][/\w+\z/] }]
    assert_match(/100 %/, shown[2][0])
  end

  # A program on a terminal, as a user starts it.
  def test_a_run_on_a_terminal
    fast = serve
    slow = serve { sleep(0.3) && [200, "ok"] }
    urls = Array.new(60) { |number| [fast, slow][number % 2].url("/#{number}") }
    code = <<~RUBY
      class Live < Trunkline::Bulk
        source  { #{urls.inspect} }
        request { |url| url }
        options slice: 20, concurrency: 4, timeout: 5
        result  { |*| nil }
      end
      Live.start("run", state: #{state.inspect})
    RUBY
    text = on_terminal(code)
    shown = views(text)
    assert(shown.any? { |view| view[1].match?(/[1-9]\d* in flight/) }, text)
    assert_match(/\A    \d\.\d{3} s  #{slow.url}\z/, shown.filter_map { |view| view[4] }.last)
    assert_match(%r{100 %  60/60  done\z}, shown.last[0])
    assert_match(/\A200: 60\z/, shown.last[2])
  end

  def test_lines_where_there_is_no_terminal
    output = StringIO.new
    current = status
    progress = Bulk::Progress.for(true, output: output) { current }
    3.times { progress.report }
    progress.finish
    assert_equal [current.to_s] * 2, output.string.lines.map(&:chomp)
    assert_nil Bulk::Progress.for(nil, output: output) { status }
    assert_nil Bulk::Progress.for(false, output: output) { status }
  end

  # A process without the gems of the view.
  def test_lines_without_the_gems
    server = serve
    code = <<~RUBY
      module Kernel
        alias_method :required, :require
        def require(name) = required(name == "tty-cursor" ? "no/such/library" : name)
      end
      one = Class.new(Trunkline::Bulk) do
        source  { [#{server.url("/").inspect}] }
        request { |url| url }
        result  { |*| nil }
      end
      one.start("run", state: #{state.inspect})
    RUBY
    text = on_terminal(code)
    assert_match(/a live view needs the gems tty-cursor and pastel/, text)
    assert_match(/run: done, 1 done/, text)
    refute_match(/\e/, text)
  end

  # The status is read while no request ends.
  def test_what_is_in_flight_is_told_while_nothing_ends
    gate = Queue.new
    server = serve { gate.pop && [200, "ok"] }
    urls = Array.new(4) { |number| server.url("/#{number}").sub("//", "//me:secret@") }
    run = bulk(urls, concurrency: 4, timeout: 30)
    thread = Thread.new { run_bulk(run) }
    eventually("they are told") { server.total == 4 && run.status("run", state: state).in_flight == 4 }
    gate << 1
    eventually("one is over") { run.status("run", state: state).then { _1.in_flight == 3 && _1.slowest_origins.any? } }
    now = run.status("run", state: state)
    assert_equal [server.url, 1], now.slowest_origins.first.to_a.first(2)
    run.pause("run", state: state)
    3.times { gate << 1 }
    thread.value
    assert_equal 0, run.status("run", state: state).in_flight
  end
end
