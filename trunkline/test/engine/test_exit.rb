# frozen_string_literal: true

require_relative "../test_helper"

# A process must exit cleanly, with calls in flight or not: no crash, no hang, nothing on standard error.
class TestExit < TrunklineTest
  def setup
    super
    @server = serve { |connection| connection.read_request && connection.stall }
    @fast = serve
  end

  def test_at_the_end_of_the_program_with_idle_connections
    assert_clean run_program("http.get(fast); puts :done"), "done\n"
  end

  def test_with_calls_in_flight_in_threads
    assert_clean run_program("3.times { Thread.new { http.get(slow) } }; sleep 0.2; puts :done"), "done\n"
  end

  def test_with_a_partly_read_streamed_response
    assert_clean run_program("$kept = http.get(fast, stream: true); puts :done"), "done\n"
  end

  def test_with_names_being_resolved
    program = "Thread.new { http.get(\"http://no-such-name.invalid/\") rescue nil }; sleep 0.05; puts :done"
    assert_clean run_program(program), "done\n"
  end

  def test_by_exit_bang
    result = run_program("Thread.new { http.get(slow) }; sleep 0.2; exit!(3)")
    assert_equal 3, result.status.exitstatus
    assert_empty result.err
  end

  def test_by_abort_in_a_call_of_a_thread
    result = run_program("Thread.new { http.get(slow) }; sleep 0.2; abort")
    assert_equal 1, result.status.exitstatus
    assert_empty result.err
  end

  def test_at_exit_may_still_call
    assert_clean run_program("at_exit { puts http.get(fast).body }; http.get(fast)"), "ok\n"
  end

  def test_without_a_call
    assert_clean run_program("puts :done"), "done\n"
  end

  def test_by_ctrl_c_in_a_call
    program = "puts :ready; begin; http.get(slow); rescue Interrupt; puts :interrupted; end"
    result = interrupt(Subprocess::CTRL_C + program, :INT)
    assert_equal "interrupted\n", result.out
    assert_predicate result.status, :success?
    assert_empty result.err
  end

  def test_by_ctrl_c_that_is_not_rescued
    result = interrupt("puts :ready; http.get(slow)", :INT)
    assert_equal Signal.list["INT"], Subprocess.signal_of(result.status)
  end

  def test_by_ctrl_c_while_a_body_is_read
    program = "puts :ready; begin; http.post(slow, body: \"x\" * 50_000_000); rescue Interrupt; puts :interrupted; end"
    assert_equal "interrupted\n", interrupt(Subprocess::CTRL_C + program, :INT).out
  end

  def test_by_sigterm_with_a_call_in_flight
    result = interrupt("puts :ready; http.get(slow)", :TERM)
    assert_equal Signal.list["TERM"], Subprocess.signal_of(result.status)
    assert_took_less 2.0, @took
  end

  # A broken connection must not end a process that has the default action for SIGPIPE.
  def test_a_broken_pipe_is_an_error_and_no_signal
    dying = serve { |connection| connection.read_head_only && connection.reset }
    program = <<~RUBY
      trap("PIPE", "SYSTEM_DEFAULT")
      pieces = Enumerator.new { |out| 200.times { (out << "x" * 65_536) && sleep(0.001) } }
      begin
        http.post(#{dying.url.inspect}, body: pieces)
      rescue Trunkline::ConnectionClosed
        puts :closed
      end
    RUBY
    assert_equal "closed\n", run_program(program).out
  end

  def test_a_broken_pipe_over_tls
    dying = serve_tls { |connection| connection.read_request && connection.close_abruptly }
    program = <<~RUBY
      trap("PIPE", "SYSTEM_DEFAULT")
      20.times { http.get(#{dying.url.inspect}, verify: false) rescue puts($!.class) }
    RUBY
    assert_equal "Trunkline::ConnectionClosed\n" * 20, run_program(program).out
  end

  private

  def prelude = "http = Trunkline.new(timeout: 10); slow = #{@server.url.inspect}; fast = #{@fast.url.inspect}\n"

  def run_program(code) = Subprocess.run(prelude + code)

  def interrupt(code, signal)
    start = nil
    result = Subprocess.interact(prelude + code) do |pid, first|
      assert_equal "ready\n", first
      @server.wait_for_connections(1)
      start = monotonic
      Process.kill(signal, pid)
    end
    @took = monotonic - start
    result
  end

  def assert_clean(result, output)
    assert_equal output, result.out
    assert_predicate result.status, :success?, result.err
    assert_empty result.err
  end
end
