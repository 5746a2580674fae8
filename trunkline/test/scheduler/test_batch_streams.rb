# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/stream_tests"

class TestBatchStreams < TrunklineTest
  include StreamTests

  BAD = [
    [[3], {}, /request 0/], [[nil], {}, /request 0/], [[["GET"]], {}, /request 0/],
    [[{ method: :get }], {}, /request 0/], [[["GET", "/", 3]], {}, /request 0/],
    [["/", ["GET", "/", { tiemout: 1 }]], {}, /request 1: unknown option :tiemout/],
    [["http://a b/"], {}, /request 0: url/], [["/"], { concurrency: "9" }, /concurrency/],
    [3, {}, /requests/], [{ url: "/" }, {}, /requests/], [["/"], { on_error: -> {} }, /on_error/]
  ].freeze

  def test_bad_input_is_refused_before_anything_is_sent
    server = serve
    http = client(server.url)
    BAD.each do |requests, options, message|
      error = assert_raises(Trunkline::InvalidRequest) { http.each(requests, options) { |_, _| nil } }
      assert_match message, error.message
    end
    [->(_, _, _) {}, proc { |one, two, three| [one, two, three] }].each do |block|
      assert_raises(Trunkline::InvalidRequest) { http.each(["/"], &block) }
    end
    assert_empty server.requests
  end

  def test_the_last_of_a_long_array_is_checked_too
    server = serve
    requests = Array.new(Trunkline::Scheduler::COMPOSED + 1, "/") << "http://a b/"
    error = assert_raises(Trunkline::InvalidRequest) { client(server.url).each(requests) { |_, _| nil } }
    assert_match(/\Arequest #{requests.size - 1}: url/, error.message)
    assert_empty server.requests
  end

  # Content that counts its serialisations.
  class Counted
    attr_reader :times

    def to_json(*)
      @times = times.to_i + 1
      "{}"
    end
  end

  def test_a_json_body_is_encoded_once
    contents = Array.new(3) { Counted.new }
    server = serve
    client(server.url).each(contents.map { |content| [:post, "/", { json: content }] }) { |_, _| nil }
    assert_equal [["{}", 1]] * 3, server.requests.map(&:body).zip(contents.map(&:times))
  end

  def test_each_request_of_a_long_array_is_sent_once
    server = serve
    bodies = Array.new(Trunkline::Scheduler::COMPOSED + 10, &:to_s)
    results = client(server.url).map(bodies.map { |body| [:post, "/", { body: body }] }, concurrency: 20)
    assert_equal [200], results.map { |result| result&.status }.uniq
    assert_equal bodies.sort, server.requests.map(&:body).sort
  end

  def test_a_timeout_is_required
    assert_raises(Trunkline::MissingTimeout) { Trunkline.new("http://127.0.0.1:1") }
  end

  # A heap with free room for millions of objects gives no reason to collect: the memory that the objects own must.
  def test_the_collector_knows_of_the_memory_of_requests_and_responses
    result = Subprocess.run(<<~RUBY)
      Array.new(1_000_000) { Object.new }.clear
      http = Trunkline.new(#{Nginx.url("/").inspect}, timeout: 20)
      GC.start
      before = GC.count
      http.each(Enumerator.new { |urls| 40_000.times { urls << "/small" } }, concurrency: 20) { |_, response| response.body }
      p GC.count > before
    RUBY
    assert_equal ["true\n", ""], [result.out, result.err]
  end

  def test_memory_does_not_grow_with_the_number_of_requests
    http = client
    url = Nginx.url("/small")
    run = lambda do |count|
      urls = Enumerator.new { |requests| count.times { requests << url } }
      http.each(urls, concurrency: 10) { |_, response| response.body }
      Memory.objects
    end
    run.call(2000)
    # JRuby's heap grows by a megabyte after a long run of any length; a leak grows with the length.
    few, many, times = RUBY_ENGINE == "jruby" ? [8000, 24_000, 3] : [500, 8000, 1]
    grown = Array.new(times) do
      before = run.call(few)
      run.call(many) - before
    end
    assert_operator grown.min, :<, (many - few) * 2 / 5, grown.inspect
  end
end
