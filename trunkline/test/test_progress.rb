# frozen_string_literal: true

require_relative "test_helper"
require "stringio"

# The option progress: what is reported, and where.
class TestProgress < TrunklineTest
  Reporter = Trunkline::Progress::Reporter

  # A terminal that keeps its output.
  class Terminal < StringIO
    def tty? = true
  end

  def test_true_writes_one_line_to_a_terminal
    terminal = Terminal.new
    reporter = Reporter.for(true, output: terminal)
    reporter.count(response(200))
    reporter.finish(Struct.new(:in_flight, :limit).new(0, 16))
    assert_match(%r{\A\r\e\[K1 done, 0 failed, 0 of 16 in flight, \d+/s\n\z}, terminal.string)
  end

  def test_true_writes_nothing_without_a_terminal
    assert_nil Reporter.for(true, output: StringIO.new)
    assert_nil Reporter.for(false, output: Terminal.new)
    assert_nil Reporter.for(nil, output: Terminal.new)
  end

  def test_errors_and_statuses_of_400_and_above_count_as_failed
    server = serve do |connection|
      while (request = connection.read_request)
        connection << response_bytes("", status: request.target == "/bad" ? "404 Not Found" : "200 OK")
      end
    end
    last = nil
    nowhere = "http://127.0.0.1:#{refused_port}/"
    client(server.url).map(["/", "/bad", nowhere], progress: ->(progress) { last = progress })
    assert_equal({ done: 3, failed: 2, in_flight: 0 }, last.to_h.slice(:done, :failed, :in_flight))
    assert_operator last.per_second, :>, 0
    assert_match(/\A3 done, 2 failed/, last.to_s)
  end

  private

  def response(status)
    server = serve(response_bytes("", status: "#{status} OK"))
    client(server.url).get("/")
  end
end
