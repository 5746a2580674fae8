# frozen_string_literal: true

require_relative "support"
require "trunkline/stubs"

# on_headers, on_body and on_progress are called while the response arrives, in Request#run and in Hydra#run.
class TestTyphoeusStreams < TyphoeusTest
  stressable

  # Ways to run a request.
  CALL_STYLES = {
    run: :run.to_proc,
    hydra: lambda do |made|
      hydra = Typhoeus::Hydra.new
      hydra.queue(made)
      hydra.run
    end
  }.freeze

  def self.both_ways(name, &body)
    CALL_STYLES.each { |way, run| define_method(:"test_#{name}_by_#{way}") { instance_exec(run, &body) } }
  end

  # Sends the second chunk once the client has received the first.
  def serve_in_two
    @taken = Queue.new
    server = serve do |connection|
      while connection.read_request
        connection << "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n" << chunk("first")
        @taken.pop
        connection << chunk("second") << "0\r\n\r\n"
      end
    end
    server.url
  end

  both_ways(:chunks_are_passed_on_as_they_arrive) do |run|
    came = []
    made = request(serve_in_two)
    made.on_body { |piece, response| @taken << came.push([piece, response.code]) }
    made.on_complete { |response| came << [response.body, response.return_code] }
    run.call(made)
    assert_equal [["first", 200], ["second", 200], ["", :ok]], came
  end

  both_ways(:headers_come_before_the_body) do |run|
    order = []
    made = request(serve_in_two)
    made.on_headers { |response| @taken << order.push([response.code, response.headers["x-a"]]) }
    made.on_complete { |response| order << response.body }
    run.call(made)
    assert_equal [[200, "1"], "firstsecond"], order
  end

  both_ways(:abort_from_on_body) do |run|
    seen = []
    made = request(serve_in_two)
    made.on_body { |piece| seen << piece && :abort }
    run.call(made)
    assert_equal [["first"], 200, :write_error], [seen, made.response.code, made.response.return_code]
  end

  both_ways(:progress_counts_bytes) do |run|
    seen = []
    made = request(serve(response_bytes("x" * 10)).url, method: :post, body: "abc")
    made.on_progress { |*counts| seen << counts }
    run.call(made)
    assert_equal [10, 0, 3, 3], seen.first
    assert_equal [10, 10, 3, 3], seen.last
    assert_equal "x" * 10, made.response.body
  end

  both_ways(:redirects_are_not_reported) do |run|
    server = serve do |connection|
      while (got = connection.read_request)
        moved = response_bytes("gone", status: "302 Found", "Location" => "/x")
        connection << (got.target == "/" ? moved : response_bytes("here"))
      end
    end
    reported = []
    made = request(server.url, followlocation: true)
    made.on_headers { |response| reported << response.code }
    made.on_body { |piece| reported << piece }
    run.call(made)
    assert_equal [[200, "here"], 1], [reported, made.response.redirect_count]
  end

  both_ways(:a_body_that_breaks_off) do |run|
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", :close]])
    pieces = []
    made = request(server.url)
    made.on_body { |piece| pieces << piece }
    run.call(made)
    assert_equal [["abc"], :partial_file, 200], [pieces, made.response.return_code, made.response.code]
  end

  both_ways(:failures_before_any_head) do |run|
    made = request("127.0.0.1:#{refused_port}")
    made.on_body { flunk }
    run.call(made)
    assert_equal [0, :couldnt_connect], [made.response.code, made.response.return_code]
  end

  both_ways(:an_exception_of_a_callback_is_raised_to_the_caller) do |run|
    made = request(serve_in_two)
    made.on_headers { raise IOError, "no" }
    assert_raises(IOError) { run.call(made) }
  end

  both_ways(:stubbed_bodies_are_streamed) do |run|
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://api.test/").answer(201, headers: { "X-A" => "1" }, body: "x" * 40_000)
      reported = []
      made = request("http://api.test/")
      made.on_headers { |response| reported << [response.code, response.headers["x-a"]] }
      made.on_body { |piece, response| reported << [piece.bytesize, response.code] }
      run.call(made)
      assert_equal [201, "1"], reported.shift
      assert_operator reported.size, :>, 1
      assert_equal [40_000, [201]], [reported.sum(&:first), reported.map(&:last).uniq]
      assert_equal :ok, made.response.return_code
    end
  end

  both_ways(:abort_from_on_body_of_a_stub) do |run|
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://api.test/").answer(body: "x" * 40_000)
      pieces = 0
      made = request("http://api.test/")
      made.on_body { (pieces += 1) && :abort }
      run.call(made)
      assert_equal [1, :write_error, 200], [pieces, made.response.return_code, made.response.code]
    end
  end

  both_ways(:a_stub_that_breaks_off) do |run|
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://api.test/").reset(after: 3, body: "abcdef")
      pieces = []
      made = request("http://api.test/")
      made.on_body { |piece| pieces << piece }
      run.call(made)
      assert_equal ["abc"], pieces
      refute_equal :ok, made.response.return_code
    end
  end

  both_ways(:stubs_beside_the_network) do |run|
    Trunkline::Stubs.use(network: true) do
      pieces = []
      made = request(serve_in_two)
      made.on_body { |piece| @taken << pieces.push(piece) }
      run.call(made)
      assert_equal %w[first second], pieces
    end
  end

  # WebMock's callbacks need the whole body; the caller still receives it in chunks.
  both_ways(:an_interceptor_gets_the_complete_body) do |run|
    reported = []
    watcher = Object.new
    watcher.define_singleton_method(:intercept) { |_, _| ->(response) { reported << response.body.bytesize } }
    Trunkline::Interception.add(watcher)
    sizes = []
    made = request(serve(response_bytes("x" * 40_000)).url)
    made.on_body { |piece| sizes << piece.bytesize }
    run.call(made)
    assert_equal [[40_000], 40_000, :ok], [reported, sizes.sum, made.response.return_code]
    assert_operator sizes.size, :>, 1
  ensure
    Trunkline::Interception.remove(watcher)
  end

  def test_a_large_body_streams_in_a_hydra_beside_others
    server = serve(response_bytes("x" * 3_000_000))
    hydra = hydra()
    sizes = Array.new(4, 0)
    4.times do |index|
      made = request(server.url)
      made.on_body { |piece| sizes[index] += piece.bytesize }
      hydra.queue(made)
    end
    plain = request(server.url).tap { |made| hydra.queue(made) }
    hydra.run
    assert_equal [3_000_000] * 4, sizes
    assert_equal 3_000_000, plain.response.body.bytesize
  end
end
