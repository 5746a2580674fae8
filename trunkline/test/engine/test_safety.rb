# frozen_string_literal: true

require_relative "../test_helper"

# No request is sent twice without the caller's knowledge, and no call gets the response to another request.
class TestSafety < TrunklineTest
  EVERY_VERB = %i[get head options trace put post patch delete].freeze
  SAFE = %i[get head options trace].freeze

  # A step of a server script that sends its bytes when the test calls #come.
  class Later
    def initialize(bytes)
      @bytes = bytes
      @requested = Queue.new
      @written = Queue.new
    end

    def call(connection)
      @requested.pop
      connection << @bytes
      @written << true
    end

    # Sends the bytes and waits until they have had the time to arrive.
    def come
      @requested << true
      @written.pop
      sleep 0.05
    end
  end

  # A kept connection on which the server reads the whole second request and then closes without a byte.
  DYING = [:read, Responses.response_bytes, :read].freeze

  EVERY_VERB.each do |verb|
    %i[close reset].each do |way|
      define_method(:"test_#{verb}_is_not_sent_twice_when_a_kept_connection_ends_by_#{way}") do
        server = serve(script: [[*DYING, way], [:read, response_bytes("replayed"), :stall]])
        http = client(server.url)
        http.get("/first")
        error = assert_raises_with(Trunkline::ConnectionClosed, sent: :all, attempt: 1) { http.public_send(verb, "/once") }
        assert_equal 1, error.attempts.size
        assert_attempts 2, server
      end
    end
  end

  %i[post put get].each do |verb|
    define_method(:"test_#{verb}_is_not_sent_twice_over_tls") do
      server = serve_tls(script: [[*DYING, :close], [:read, response_bytes("replayed"), :stall]])
      http = secure_client(server.url)
      http.get("/first")
      assert_raises_with(Trunkline::ConnectionClosed, sent: :all) { http.public_send(verb, "/once") }
      assert_attempts 2, server
    end
  end

  SAFE.each do |verb|
    define_method(:"test_#{verb}_is_replayed_once_with_replay_safe") do
      server = serve(script: [[*DYING, :close], [:read, response_bytes(""), :stall]])
      http = client(server.url, replay: :safe)
      http.get("/first")
      response = http.public_send(verb, "/again")
      assert_equal 200, response.status
      assert_equal 2, response.attempts.size
      assert_equal [1, 2], response.attempts.map(&:number)
      refute_nil response.attempts.first.error
      assert_equal 3, server.requests.size
    end
  end

  %i[post put patch delete].each do |verb|
    define_method(:"test_#{verb}_is_not_replayed_with_replay_safe") do
      server = serve(script: [[*DYING, :close], [:read, response_bytes, :stall]])
      http = client(server.url, replay: :safe)
      http.get("/first")
      assert_raises(Trunkline::ConnectionClosed) { http.public_send(verb, "/once") }
      assert_attempts 2, server
    end
  end

  def test_a_replay_happens_once
    server = serve(script: [[*DYING, :close], %i[read close]])
    http = client(server.url, replay: :safe)
    http.get("/first")
    error = assert_raises(Trunkline::ConnectionClosed) { http.get("/again") }
    assert_equal 2, error.attempts.size
    assert_attempts 3, server
  end

  def test_no_replay_on_a_fresh_connection
    server = serve(script: [%i[read close]])
    assert_raises(Trunkline::ConnectionClosed) { client(server.url, replay: :safe).get("/") }
    assert_attempts 1, server
  end

  def test_no_replay_after_the_first_byte
    server = serve(script: [[*DYING, "HTTP/1.1 2", :close], [:read, response_bytes, :stall]])
    http = client(server.url, replay: :safe)
    http.get("/first")
    assert_raises(Trunkline::Error) { http.get("/again") }
    assert_attempts 2, server
  end

  def test_a_replay_stays_inside_the_total
    server = serve(script: [[:read, response_bytes, :read, 0.2, :close], %i[read stall]])
    http = client(server.url, replay: :safe)
    http.get("/first")
    seconds, = raised_after(Trunkline::TotalTimeout) { http.get("/again", timeout: 0.4) }
    assert_took 0.4, seconds
  end

  def test_a_dead_idle_connection_is_replaced_without_an_error
    server = serve(script: [[:read, response_bytes("one"), :close], [:read, response_bytes("two"), :stall]])
    http = client(server.url)
    http.get("/")
    eventually { server.connections[0].socket.closed? }
    response = http.post("/", body: "x")
    assert_equal "two", response.body
    assert_equal %w[GET POST], server.requests.map(&:verb)
  end

  def test_a_timeout_is_one_attempt_also_on_a_kept_connection
    server = serve(script: [[:read, response_bytes, :read, :stall], %i[read stall]])
    http = client(server.url, replay: :safe)
    http.get("/")
    seconds, = raised_after(Trunkline::TimeoutError) { http.get("/again", timeout: 0.3) }
    assert_took 0.3, seconds
    assert_attempts 2, server
  end

  %w[at_once late].each do |moment|
    [false, true].each do |tls|
      define_method(:"test_poison_#{moment}_is_not_the_next_response#{"_over_tls" if tls}") do
        late = Later.new(response_bytes("EVIL")) if moment == "late"
        poisoned = late ? [response_bytes("one"), late] : [response_bytes("one") + response_bytes("EVIL")]
        script = [[:read, *poisoned, :stall], [:read, response_bytes("two"), :stall]]
        server = tls ? serve_tls(script: script) : serve(script: script)
        http = secure_client(server.url)
        assert_equal "one", http.get("/").body
        late&.come
        assert_equal "two", http.get("/").body
        assert_equal 2, server.connection_count
        refute_nil server.ended(0), "the poisoned connection is closed"
      end
    end
  end

  def test_a_408_on_an_idle_connection_is_not_the_next_response
    late = Later.new(response_bytes("too slow", status: "408 Request Timeout", "Connection" => "close"))
    server = serve(script: [[:read, response_bytes("one"), late, :close], [:read, response_bytes("two"), :stall]])
    http = client(server.url)
    http.get("/")
    late.come
    assert_equal "two", http.get("/").body
  end

  def test_part_of_a_response_on_an_idle_connection_is_not_the_next_response
    late = Later.new("H")
    server = serve(script: [[:read, response_bytes("one"), late, :stall], [:read, response_bytes("two"), :stall]])
    http = client(server.url)
    http.get("/")
    late.come
    assert_equal "two", http.get("/").body
  end

  def test_tickets_on_an_idle_tls_connection_are_no_poison
    server = serve_tls
    http = secure_client(server.url)
    connections = Array.new(5) do
      sleep 0.05
      http.get("/").connection.id
    end
    assert_equal 1, connections.uniq.size
  end

  # Both responses are sent in one write: a response that arrives only after the next request was sent would be
  # indistinguishable from that request's own.
  def test_poison_in_many_rounds
    server = serve do |connection|
      request = connection.read_request
      connection << (response_bytes(request.target) + response_bytes("EVIL"))
      connection.stall
    end
    http = client(server.url)
    30.times { |round| assert_equal "/#{round}", http.get("/#{round}").body }
    assert_equal 30, server.connection_count
  end

  def test_threads_get_their_own_responses_while_others_are_killed
    server = serve { |connection| echo_slowly(connection) }
    http = client(server.url)
    victims = Array.new(4) { Thread.new { loop { http.get("/victim") } } }
    killer = Thread.new { victims.each { |thread| sleep(0.1) && thread.kill } }
    4.times do |caller|
      Thread.new { 20.times { |call| assert_equal "/#{caller}/#{call}", http.get("/#{caller}/#{call}").body } }.join
    end
    [killer, *victims].each(&:join)
  end

  private

  def echo_slowly(connection)
    while (request = connection.read_request)
      sleep 0.005
      connection << response_bytes(request.target)
    end
  end
end
