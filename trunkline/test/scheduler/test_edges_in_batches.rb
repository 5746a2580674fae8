# frozen_string_literal: true

require_relative "../test_helper"

# An exchange loop gets edge-triggered events: data that arrived in pieces, or together with the connection's end, must
# be read to its end.
class TestEdgesInBatches < TrunklineTest
  stressable

  BODY = "trunkline " * 400
  # The bytes of the server's second response, after which it closes, and the expected outcome.
  ENDS = {
    "half_a_body" => [Responses.response_bytes(BODY)[0...(-BODY.bytesize / 2)], Trunkline::TruncatedBody],
    "half_a_head" => [Responses.response_bytes(BODY)[0, 20], Trunkline::TruncatedBody],
    "a_body_until_the_end" => ["HTTP/1.1 200 OK\r\n\r\n#{BODY}", BODY],
    "a_whole_body" => [Responses.response_bytes(BODY, Connection: "close"), BODY],
    "half_of_the_chunks" => [Responses.chunked_response(BODY, BODY)[0...-30], Trunkline::TruncatedBody]
  }.freeze

  ENDS.each do |name, (bytes, outcome)|
    define_method("test_#{name}_and_the_end_at_once") do
      # A client that missed the event would notice the end only at its timeout.
      results = assert_quick(2 * GCLevel::SLOWDOWN) { second_results(bytes, &:close) }
      assert_equal [outcome] * 2, results.map { |result| result.is_a?(Exception) ? result.class : result.body }
    end
  end

  # The body arrives a moment after its head, with a known and an unknown length of the body.
  def test_a_body_that_comes_later_than_its_head
    head, body = response_bytes(BODY).split("\r\n\r\n", 2)
    results = second_results("#{head}\r\n\r\n") do |connection|
      sleep 0.02
      connection << body[0, 700]
      sleep 0.02
      connection << body[700..]
    end
    assert_equal [BODY] * 2, results.map(&:body)
  end

  private

  # Requests one path twice, so that the client knows the length to expect, and another only once. The second responses
  # are sent while the block of a third request keeps the exchange loop from polling.
  # @return [Array<Response, Exception>]
  def second_results(bytes)
    arrived, go = Array.new(2) { Thread::Queue.new }
    server = serve do |connection|
      serve_first(connection, arrived) or next
      arrived << true
      go.pop
      connection << bytes
      yield connection
    end
    results = []
    client(server.url).batch(concurrency: 10) do |batch|
      batch.get("/known") do |first|
        assert_equal BODY, first.body
        %w[/known /unknown].each { |path| batch.get(path) { |result| results << result } }
        batch.get("/when-both-came") { Array.new(2) { go << true } && sleep(0.05) }
      end
    end
    results
  end

  # @return [ScriptedConnection::Request, nil] the first request that this method does not respond to; nil at the end
  def serve_first(connection, arrived)
    while (request = connection.read_request)
      last = request.target == "/when-both-came"
      return request if @known && !last

      @known = true
      2.times { arrived.pop } if last
      connection << response_bytes(BODY)
    end
  end
end
