# frozen_string_literal: true

require_relative "../support/fibers"
require "timeout"
require_relative "../support/in_child"
require_relative "../support/websocket_peers"
require_relative "../test_helper"

# WebSockets that do not end by a close frame: forked, dropped, interrupted; and their memory under GC stress.
module WebSocketEndingTests
  include InChild

  LARGE = "x" * 16_000_000 # more than the buffers of two sockets can hold
  Interruption = Class.new(StandardError)
  Unusual = Class.new(Exception) # rubocop:disable Lint/InheritException -- as those of schedulers are

  # name => how a thread that runs the block is interrupted
  INTERRUPTS = {
    raise: ->(thread) { thread.raise(Interruption) },
    unusual: ->(thread) { thread.raise(Unusual) },
    kill: :kill.to_proc
  }.freeze

  # name => how a thread waits in a socket: no message arrives, or the server reads nothing
  WAITS = { read: :read.to_proc, write: ->(socket) { socket.write(LARGE) } }.freeze

  def test_a_child_cannot_use_the_parents_socket
    http = client_of(peers(&:echo))
    socket = opened_socket(http.websocket)
    socket.write("before").read
    %i[read write ping].each do |use|
      refused = in_child { refusal { use == :write ? socket.write("child") : socket.public_send(use) } }.call
      assert_equal "Trunkline::ForkedConnection true", refused, use
    end
    assert_equal "nil", in_child { socket.close.inspect }.call
    assert_equal "after", socket.write("after").read
  end

  # After a fork, the child closes the descriptor, and its number becomes that of another file.
  def test_a_child_uses_no_file_that_has_the_sockets_number
    http = client_of(peers(&:echo))
    socket = opened_socket(http.websocket)
    socket.write("before").read
    [:read.to_proc, ->(own) { own.write("child") }].each do |use|
      used = in_child do
        pipes = Array.new(32) { IO.pipe.tap { |_, writer| writer << "own" } }
        refused = refusal { use.call(socket) }
        (pipes.map { |reader, _| reader.read_nonblock(64) } << refused).uniq
      end
      assert_equal ["own", "Trunkline::ForkedConnection true"].to_s, used.call
    end
  end

  def test_the_exit_of_a_child_does_not_close_the_socket
    http = client_of(peers(&:echo))
    socket = opened_socket(http.websocket)
    Process.wait(fork { exit }) # runs at_exit and finalizers, unlike exit!
    assert_equal "after", socket.write("after").read
  end

  def test_a_child_opens_its_own_socket
    http = client_of(peers(&:echo))
    socket = opened_socket(http.websocket)
    echoed = in_child { http.websocket { |own| own.write("child").read } }
    assert_equal "parent", socket.write("parent").read
    assert_equal "child", echoed.call
  end

  def test_dropped_without_a_close
    ended = Queue.new
    http = client_of(peers { |peer| ended << until_its_end(peer) })
    Thread.new { 3.times { http.websocket } }.join # references on its stack disappear when it ends
    eventually { Memory.collect || http.stats[:in_use].zero? }
    assert_equal [:ended] * 3, Array.new(3) { ended.pop }
  end

  def test_interrupts
    http = client_of(silent_peers)
    WAITS.each do |wait, use|
      INTERRUPTS.each do |interrupt, send|
        socket = http.websocket
        thread = waiting_thread { use.call(socket) }
        send.call(thread)
        thread.join
        assert_over socket, http, "#{interrupt} in #{wait}"
      end
    end
  end

  def test_timeouts
    http = client_of(silent_peers)
    WAITS.each do |wait, use|
      [[0.1], [0.1, Interruption]].each do |limit|
        socket = http.websocket
        assert_raises(limit[1] || Timeout::Error) { Timeout.timeout(*limit) { use.call(socket) } }
        assert_over socket, http, "Timeout in #{wait}"
      end
    end
  end

  # The rest of a frame cannot be sent later, since other frames would have to wait for it; so the socket is closed.
  def test_a_write_that_took_too_long
    http = client_of(silent_peers, timeout: { connect: 5, first_byte: 5, write: 0.1 })
    socket = http.websocket
    assert_raises(Trunkline::WriteTimeout) { socket.write(LARGE) }
    assert_over socket, http, "WriteTimeout"
  end

  def test_fibers_side_by_side
    http = client_of(peers(&:echo), timeout: 20)
    Sync do |task|
      tasks = Array.new(20) { |number| task.async { http.websocket { |socket| talk(socket, task, number) } } }
      assert_equal (0...20).to_a, tasks.map(&:wait)
    end
  end

  def test_a_fiber_is_interrupted
    http = client_of(silent_peers)
    WAITS.each do |wait, use|
      socket = opened_socket(http.websocket)
      Sync do |task|
        assert_raises(Async::TimeoutError) { task.with_timeout(0.1) { use.call(socket) } }
        stopped = task.async { http.websocket { |other| use.call(other) } }
        sleep 0.1
        stopped.stop
      end
      assert_over socket, http, "a fiber in #{wait}"
    end
  end

  def test_while_the_collector_moves_and_frees
    http = client_of(peers(&:echo))
    http.websocket do |socket|
      5.times do |number|
        GC.respond_to?(:compact) ? GC.compact : GC.start
        message = number.to_s * 5000
        assert_equal message, socket.write(message).read
      end
    end
  end

  def test_under_stress
    socket = opened_socket(client_of(peers(&:echo)).websocket)
    GC.stress = 1 # each new object triggers a minor collection
    got = Array.new(3) { |number| socket.write("message #{number}").read }
    socket.close
    GC.stress = false
    assert_equal ["message 0", "message 1", "message 2"], got
  ensure
    GC.stress = false
  end

  private

  # The peers neither read nor send until the test is over.
  def silent_peers
    peers { (@over ||= Queue.new).pop }
  end

  def teardown
    @over&.close
    super
  end

  def until_its_end(peer)
    peer.read
    :frame
  rescue IOError, SystemCallError
    :ended
  end

  def refusal
    yield.inspect
  rescue Trunkline::Error => error
    "#{error.class} #{error.message.include?("parent process")}"
  end

  # A thread that waits within the block.
  def waiting_thread
    begun = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      begun << true
      yield
    rescue Interruption, Unusual
      nil
    end
    begun.pop
    # JRuby's threads seem to run while they wait for Java selectors.
    RUBY_ENGINE == "jruby" ? sleep(0.5) : sleep(0.1) && eventually { thread.stop? }
    thread
  end

  def assert_over(socket, http, what)
    assert_predicate socket, :closed?, what
    assert_equal 0, http.stats[:in_use], what
    assert_raises(Trunkline::ClosedError, what) { socket.write("more") }
    assert_nil socket.read, what
  end

  # Reads in one fiber the echo of what another writes.
  def talk(socket, task, number)
    writer = task.async { 10.times { |count| socket.write("#{number}.#{count}") && sleep(0.001) } }
    got = Array.new(10) { socket.read }
    writer.wait
    got == Array.new(10) { |count| "#{number}.#{count}" } ? number : got
  end
end

# rubocop:disable Style/OneClassPerFile -- the same over both
class TestWebSocketEndings < TrunklineTest
  include WebSocketPeers
  include WebSocketEndingTests

  private

  def client_of(server, **options) = client(server.url, **options)
end

class TestSecureWebSocketEndings < TrunklineTest
  include WebSocketPeers
  include WebSocketEndingTests

  private

  def peers(**options, &script) = super(tls: TestCA.server_context(:localhost), **options, &script)
  def client_of(server, **options) = secure_client(server.url(host: "localhost"), **options)
end

class TestWebSocketEndingsOverHTTP2 < TrunklineTest
  include WebSocketPeers
  include WebSocketEndingTests

  def setup
    super
    skip "needs epoll" if ENV.key?("TRUNKLINE_POLL")
  end

  private

  def peers(**options, &script) = stream_peers(**options, &script)
  def client_of(server, **options) = client(server.url, http: :h2, **options)
end
# rubocop:enable Style/OneClassPerFile
