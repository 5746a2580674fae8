# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"
require_relative "../support/network_namespace"

# A caller that calls a bad server, or does not read its response, must not slow down another caller of the same client:
# every pair of the two tables is tested. The pairs with a dead name server run in a separate network namespace, as
# one test of this file, which runs this file there.
class TestIsolation < HTTP2Test
  MOST = 0.05 # seconds by which a call may take longer
  REPEATED = 2 # calls, of ten, that the machine may delay
  DEAD = 1000 # origins
  PIECES = ("x" * 65_536).freeze

  # The action of each bad caller, which lasts until its thread is killed; `test` has the servers.
  BAD = {
    holds_a_response: ->(http, test) { http.get("#{test.good}/long", stream: true).tap { sleep } },
    sleeps_in_its_block: ->(http, test) { http.get("#{test.good}/long") { sleep } },
    sleeps_in_a_batch: ->(http, test) { http.batch { |batch| batch.get("#{test.good}/") { sleep } } },
    meets_a_full_disk: lambda do |http, test|
      File.open("/dev/full", "w") do |file|
        loop do
          http.get("#{test.good}/long") { |chunk| file.syswrite(chunk) }
        rescue Errno::ENOSPC
          next
        end
      end
    end,
    calls_a_dead_host: ->(http, test) { http.map(Array.new(50, test.dead)) && sleep },
    waits_for_a_handshake: ->(http, test) { http.map(Array.new(50, test.mute)) && sleep },
    calls_dead_origins: lambda do |http, _|
      http.map(Array.new(DEAD) { |number| "http://127.1.#{number / 250}.#{1 + (number % 250)}:9/" }) && sleep
    end,
    waits_for_dead_names: ->(http, _) { http.map(Array.new(50) { |number| "http://dead#{number}.test/" }) && sleep }
  }.freeze

  # Set in the run where the name server does not respond.
  DEAD_NAMES = ENV.key?("TRUNKLINE_DEAD_NAMES")

  GOOD = {
    thread: ->(http, url) { http.get(url) },
    fiber: ->(http, url) { Sync { http.get(url) } },
    batch: ->(http, url) { http.batch { |batch| batch.get(url) }.first },
    future: ->(http, url) { http.async.get(url).value(10) },
    follower_over_http2: ->(http, url) { http.get(url, http: :h2) }
  }.freeze

  attr_reader :good

  # The URLs of a host that accepts no connection, and of one that does not respond to a handshake.
  def dead = @dead ||= opened(FullBacklog.new).url
  def mute = @mute ||= serve(handshake: false, &:stall).url

  BAD.select { |bad, _| (bad == :waits_for_dead_names) == DEAD_NAMES }.each do |bad, act|
    GOOD.each do |good, call|
      define_method(:"test_a_#{good}_beside_a_caller_that_#{bad}") do
        followed = good == :follower_over_http2
        skip "this build has no HTTP/2" if followed && !Trunkline::Engine::HTTP2
        begin_server(followed)
        dead if bad == :calls_a_dead_host
        mute if bad == :waits_for_a_handshake
        http = client(timeout: 10, http: followed ? :h2 : :auto)
        call.call(http, "#{@good}/")
        beside(http, act) { assert_unhindered { call.call(http, "#{@good}/") } }
      end
    end
  end

  # The system's look-ups keep their sockets until they give up, after 5 s.
  def check_leaks = (super unless DEAD_NAMES)

  unless DEAD_NAMES
    def test_all_calls_beside_calls_that_wait_for_dead_names
      skip "namespaces (unshare, ip) are not to be had here" unless NetworkNamespace.available?
      result = NetworkNamespace.run(<<~RUBY)
        ENV["TRUNKLINE_DEAD_NAMES"] = "yes"
        $LOAD_PATH.unshift(#{File.expand_path("..", __dir__).inspect})
        load #{__FILE__.inspect}
      RUBY
      skipped = Trunkline::Engine::HTTP2 ? 0 : 1
      assert_match(/^#{GOOD.size} runs, .* 0 failures, 0 errors, #{skipped} skips/, result.out, result.err)
    end
  end

  private

  def begin_server(http2)
    @good = (http2 ? serve_frames { |stream| respond_with_frames(stream) } : serve_good).url("")
  end

  # "/long" begins a response that never ends and is longer than any buffer.
  def serve_good
    serve do |connection|
      while (request = connection.read_request)
        next connection << response_bytes("ok") unless request.target == "/long"

        connection << "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" << PIECES
        connection.stall
      end
    end
  end

  def respond_with_frames(stream)
    return stream.answer unless stream.target == "/long"

    stream.headers.data("x" * 16_384)
  end

  def beside(http, act)
    neighbour = Thread.new { act.call(http, self) }
    neighbour.report_on_exception = false
    sleep 0.1
    yield
    assert_predicate neighbour, :alive?, "the neighbour is at it"
  ensure
    neighbour&.kill&.join
  end

  # A call that took longer is repeated at once: a delay caused by the bad caller occurs again; a delay caused by other
  # processes of the machine does not.
  def assert_unhindered(&call)
    costs = Array.new(10) { cost(&call) }
    late = costs.select { |seconds| seconds > MOST }
    again = late.first(REPEATED).map { cost(&call) }
    assert_operator late.size, :<=, REPEATED, "calls took longer, by seconds: #{costs}"
    assert_operator again.max || 0, :<=, MOST, "calls took longer, by seconds: #{costs}, and again: #{again}"
  end

  # @return [Float] seconds, without the delays caused by the machine
  def cost
    since = monotonic
    assert_equal 200, yield.status
    taken = monotonic - since
    taken - ClockJitter.lateness(taken)
  end
end
