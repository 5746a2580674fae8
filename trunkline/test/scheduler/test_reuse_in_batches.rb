# frozen_string_literal: true

require_relative "../test_helper"

# The check before each reuse of a connection, when many requests share an exchange loop that already received its
# events.
class TestReuseInBatches < TrunklineTest
  stressable

  # Actions of a server, after its first response, on a connection that it announced to keep.
  AFTERWARDS = {
    "an unsolicited response" => ->(connection) { connection << response_with("poison") },
    "a byte" => ->(connection) { connection << "!" },
    "its end" => ->(connection) { connection.tcp.shutdown(Socket::SHUT_WR) },
    "its close" => lambda(&:close),
    "its reset" => lambda(&:reset)
  }.freeze

  def self.response_with(body) = "HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"

  AFTERWARDS.each do |what, deed|
    name = what.tr(" ", "_")

    define_method("test_#{name}_while_a_block_runs") do
      check_chain(delay: 0.02) { |connection| deed.call(connection) }
    end

    define_method("test_#{name}_right_after_a_response") do
      check_chain(delay: nil) { |connection| deed.call(connection) }
    end
  end

  # More connections than an exchange loop reuses without a check at a time.
  def test_all_connections_of_a_round_are_closed_before_the_next
    closed = Thread::Queue.new
    server = serve do |connection|
      if (request = connection.read_request)
        connection << self.class.response_with(request.target)
        sleep 0.02
        connection.close
        closed << true
      end
    end
    results = []
    http = client(server.url, max_connections_per_host: 100, max_idle: 100)
    http.batch(concurrency: 100) do |batch|
      100.times do |number|
        batch.get("/#{number}") do |first|
          results << first
          next unless results.size == 100

          100.times { closed.pop }
          100.times { |again| batch.get("/again/#{again}") { |second| results << second } }
        end
      end
    end
    assert_equal [200], results.map { |result| result.is_a?(Exception) ? result : result.status }.uniq
    assert_equal 200, server.requests.size
  end

  def test_a_single_call_uses_the_connection_between_two_of_a_batch
    server = serve do |connection|
      while (request = connection.read_request)
        connection << self.class.response_with(request.target)
      end
    end
    http = client(server.url)
    bodies = []
    http.batch(concurrency: 1) do |batch|
      5.times { |number| batch.get("/#{number}") { |result| bodies << result.body << http.get("/in/#{number}").body } }
    end
    assert_equal((0..4).flat_map { |number| ["/#{number}", "/in/#{number}"] }, bodies)
    assert_equal 1, server.connection_count
  end

  def test_batches_of_several_threads_share_connections_that_are_spoilt
    server = serve do |connection|
      while (request = connection.read_request)
        connection << self.class.response_with(request.target)
        connection << "!" if request.target.hash.even?
      end
    end
    http = client(server.url)
    wrong = Array.new(4) do |thread|
      Thread.new do
        paths = Array.new(50) { |number| "/#{thread}/#{number}" }
        http.map(paths, concurrency: 3).zip(paths).reject { |result, path| right_result?(result, path) }
      end
    end
    assert_empty wrong.flat_map(&:value)
  end

  private

  # A byte that arrives after the next request was sent is parsed as the beginning of its response, since no client can
  # tell the difference: the result is an error, never the response to another request.
  def right_result?(result, path)
    result.is_a?(Trunkline::ProtocolError) || result.body == path
  end

  # Makes requests one after the other, each after the block has acted on the connection of the one before.
  def check_chain(delay:)
    done = Thread::Queue.new
    server = serve do |connection|
      if (request = connection.read_request)
        connection << self.class.response_with(request.target)
        sleep delay if delay
        yield connection
        done << true
        connection.stall unless connection.tcp.closed?
      end
    end
    bodies = []
    client(server.url).batch(concurrency: 1) do |batch|
      5.times do |number|
        batch.get("/#{number}") do |result|
          bodies << result.body
          done.pop
          sleep 0.02
        end
      end
    end
    assert_equal %w[/0 /1 /2 /3 /4], bodies
    assert_equal 5, server.requests.size
  end
end
