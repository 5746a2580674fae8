# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"

# The option coalesce:.
class TestCoalesce < TrunklineTest
  include CallStyles

  # Responds to each request with its number, after `seconds`, so that all concurrent calls are waiting by then.
  def serve_slowly(seconds = 0.3)
    count = 0
    serve do |connection|
      while connection.read_request
        number = (count += 1)
        sleep(seconds)
        connection << response_bytes("answer #{number}")
      end
    end
  end

  def in_threads(count, &block)
    Array.new(count) { |index| Thread.new { result_of { block.call(index) } } }.map(&:value)
  end

  def test_threads_share_a_response
    server = serve_slowly
    http = client(server.url, coalesce: true)
    responses = in_threads(10) { http.get("/") }
    assert_equal ["answer 1"], responses.map(&:body).uniq
    assert_equal 1, server.requests.size
    responses.first.body << "changed"
    assert_equal "answer 1", responses.last.body
    assert_equal [1], responses.map { |one| one.attempts.size }.uniq
    assert_equal "answer 2", http.get("/").body
  end

  # Simulates another thread that calls #attempts during the call of this thread.
  def test_attempts_may_be_called_by_several_threads_at_once
    http = client(serve.url, coalesce: true)
    response = http.get("/")
    error = assert_raises(Trunkline::TotalTimeout) { client(serve(&:stall).url).get("/", timeout: 0.1) }
    { response => :respond_to?, error => :is_a? }.each do |result, question|
      log = Struct.new(:attempts).new([:one].freeze)
      others = [result]
      log.define_singleton_method(question) do |*about|
        others.pop&.attempts
        super(*about)
      end
      assert_equal [:one], result._set_attempts(log).attempts
    end
  end

  def test_requests_of_a_batch_share_a_response
    server = serve_slowly
    http = client(server.url, coalesce: true)
    assert_equal %w[1 2], http.map(["/a", "/b"] * 10, concurrency: 5).map(&:body).uniq.map { |one| one[/\d/] }.sort
    assert_equal 2, server.requests.size
  end

  def test_threads_futures_and_batches_together
    server = serve_slowly(0.5)
    http = client(server.url, coalesce: true)
    future = http.async.get("/")
    assert_equal 1, in_threads(2) { |index| index.zero? ? http.get("/") : http.map(["/"] * 3).last }
      .push(future.value(5)).map(&:body).uniq.size
    assert_equal 1, server.requests.size
  end

  def test_different_requests_are_not_shared
    server = serve_slowly
    http = client(server.url, coalesce: { vary: %w[X-Lang] })
    options = [{}, { params: { a: 1 } }, { headers: { "X-Lang" => "de" } }, { bearer: "one" }, { bearer: "two" },
               { headers: { "Cookie" => "a=1" } }]
    assert_equal 6, in_threads(12) { |index| http.get("/", options[index % 6]) }.map(&:body).uniq.size
    assert_equal 6, server.requests.size
    assert_equal 2, in_threads(2) { http.post("/", body: "x") }.map(&:body).uniq.size
    assert_equal 1, in_threads(2) { |index| http.get("/x", headers: { "X-Other" => index.to_s }) }.map(&:body).uniq.size
  end

  def test_parts_conditions_and_all_credentials_are_never_shared
    server = serve_slowly
    http = client(server.url, coalesce: { vary: [] }, credential_headers: %w[X-Tenant])
    fields = [{}, { "Range" => "bytes=0-1" }, { "If-None-Match" => '"1"' }, { "X-Api-Key" => "k" },
              { "X-Tenant" => "t" }]
    assert_equal 5, in_threads(10) { |index| http.get("/", headers: fields[index % 5]) }.map(&:body).uniq.size
    assert_equal 5, server.requests.size
  end

  def test_errors_are_shared_and_not_stored
    server = serve do |connection|
      connection.read_request
      sleep 0.3
      connection.close
    end
    http = client(server.url, coalesce: true)
    errors = in_threads(5) { http.get("/") }
    assert_equal [Trunkline::ConnectionClosed], errors.map(&:class).uniq
    assert_equal 5, errors.uniq(&:object_id).size
    assert_equal 1, server.requests.size
    http.async.get("/").value(5)
    assert_equal 2, server.requests.size
  end

  def test_a_call_that_times_out_does_not_fail_the_others
    server = serve_slowly(0.5)
    http = client(server.url, coalesce: true, timeout: 5)
    leader = Thread.new { result_of { http.get("/", timeout: 0.2) } }
    sleep 0.05 until server.requests.size == 1
    followers = Array.new(3) { Thread.new { result_of { http.get("/") } } }
    impatient = Thread.new { result_of { http.get("/", timeout: 0.1) } }
    assert_instance_of Trunkline::TotalTimeout, leader.value
    assert_instance_of Trunkline::TotalTimeout, impatient.value
    assert_equal ["answer 2"], followers.map { |one| one.value.body }.uniq
    assert_equal 2, server.requests.size
  end

  def test_a_phase_timeout_fails_only_calls_with_the_same_limits
    server = serve_slowly(0.5)
    http = client(server.url, coalesce: true, timeout: { total: 5 })
    hasty = Array.new(2) do
      Thread.new { result_of { http.get("/", timeout: { first_byte: 0.2, total: 5 }) } }.tap do
        sleep 0.05 until server.requests.size == 1
      end
    end
    patient = Array.new(2) { Thread.new { result_of { http.get("/") } } }
    assert_equal [Trunkline::FirstByteTimeout] * 2, hasty.map { |one| one.value.class }
    assert_equal ["answer 2"] * 2, patient.map { |one| one.value.body }
    assert_equal 2, server.requests.size
  end

  def test_an_interrupted_call_does_not_fail_the_others
    server = serve_slowly(0.4)
    http = client(server.url, coalesce: true)
    leader = Thread.new { http.get("/") }
    sleep 0.05 until server.requests.size == 1
    follower = Thread.new { http.get("/") }
    sleep 0.1
    leader.kill
    assert_equal "answer 2", follower.value.body
  end

  def test_a_cancelled_future_does_not_fail_the_others
    server = serve_slowly(1)
    http = client(server.url, coalesce: true)
    leader = http.async.get("/")
    sleep 0.05 until server.requests.size == 1
    followers = [http.async.get("/"), Thread.new { http.get("/") }]
    sleep 0.1
    assert leader.cancel
    assert_equal ["answer 2"] * 2, followers.map { |one| one.value.body }
  end

  def test_a_follower_waits_no_longer_than_its_deadline
    server = serve_slowly(1)
    http = client(server.url, coalesce: true)
    leader = Thread.new { http.get("/") }
    sleep 0.05 until server.requests.size == 1
    error = result_of { Trunkline.deadline(0.2) { http.get("/") } }
    assert_instance_of Trunkline::DeadlineExceeded, error
    assert_equal :none, error.sent
    leader.join
  end

  def test_bad_settings
    assert_match(/coalesce: vary: must be an Array of field names/,
                 assert_raises(Trunkline::InvalidRequest) { client("http://a.test", coalesce: { vary: "a" }) }.message)
  end

  def test_with_a_signer
    server = serve
    http = client(server.url, coalesce: true, digest: %w[user secret])
    assert_equal [200, 200], Array.new(2) { http.get("/").status }
  end

  def test_callers_that_change_the_body_at_once_see_only_their_change
    server = serve_slowly(0.1)
    http = client(server.url, coalesce: true)
    3.times do |round|
      bodies = in_threads(10) { |index| http.get("/#{round}").body << "-#{index}" }
      assert_equal 1, bodies.map { |body| body[/answer \d+/] }.uniq.size
      bodies.each_with_index { |body, index| assert_equal "-#{index}", body[/-.*/] }
    end
  end

  def test_bodies_whose_memory_is_reused
    server = serve_slowly
    bodies = []
    client(server.url, coalesce: true).each(["/"] * 6, reuse_bodies: true) { |_, response| bodies << response.body.dup }
    assert_equal ["answer 1"] * 6, bodies
  end

  def test_calls_that_ask_for_it_share_a_response
    server = serve_slowly
    http = client(server.url)
    assert_equal ["answer 1"], in_threads(5) { http.get("/", coalesce: true) }.map(&:body).uniq
  end
end
