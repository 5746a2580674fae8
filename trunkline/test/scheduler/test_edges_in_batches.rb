# frozen_string_literal: true

require_relative "../test_helper"

# A poller is told of what comes by edges: what came in pieces, and what came together with the connection's end before
# anybody looked, is read to its end all the same.
class TestEdgesInBatches < TrunklineTest
  stressable

  BODY = "trunkline " * 400
  # What a server sends as its second answer, closing right behind it; and what that is.
  ENDS = {
    "half_a_body" => [Answers.answer(BODY)[0...(-BODY.bytesize / 2)], Trunkline::TruncatedBody],
    "half_a_head" => [Answers.answer(BODY)[0, 20], Trunkline::TruncatedBody],
    "a_body_until_the_end" => ["HTTP/1.1 200 OK\r\n\r\n#{BODY}", BODY],
    "a_whole_body" => [Answers.answer(BODY, Connection: "close"), BODY],
    "half_of_the_chunks" => [Answers.chunked_answer(BODY, BODY)[0...-30], Trunkline::TruncatedBody]
  }.freeze

  ENDS.each do |name, (bytes, outcome)|
    define_method("test_#{name}_and_the_end_at_once") do
      # Who is not told of the end looks for it when the time is over.
      results = assert_quick(2 * GCLevel::SLOWDOWN) { second_answers(bytes, &:close) }
      assert_equal [outcome] * 2, results.map { |result| result.is_a?(Exception) ? result.class : result.body }
    end
  end

  # A head, and its body a moment later, in all the ways that they can be read.
  def test_a_body_that_comes_later_than_its_head
    head, body = answer(BODY).split("\r\n\r\n", 2)
    results = second_answers("#{head}\r\n\r\n") do |connection|
      sleep 0.02
      connection << body[0, 700]
      sleep 0.02
      connection << body[700..]
    end
    assert_equal [BODY] * 2, results.map(&:body)
  end

  private

  # One is asked for twice, so that the client knows what to expect, and one but once. The second answers are sent while
  # a third request's block keeps the poller from looking.
  # @return [Array<Response, Exception>]
  def second_answers(bytes)
    came, go = Array.new(2) { Thread::Queue.new }
    server = serve do |connection|
      serve_first(connection, came) or next
      came << true
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

  # @return [ScriptedConnection::Request, nil] the first that is not for here; nil at the end
  def serve_first(connection, came)
    while (request = connection.read_request)
      last = request.target == "/when-both-came"
      return request if @known && !last

      @known = true
      2.times { came.pop } if last
      connection << answer(BODY)
    end
  end
end
