# frozen_string_literal: true

require_relative "support"

# Hydra: concurrency, order of requests, callbacks that change the queue.
class TestTyphoeusHydra < TyphoeusTest
  stressable

  def serve_held(probe)
    serve do |connection|
      while (got = connection.read_request)
        probe.wait
        connection << response_bytes(got.target)
      end
    end
  end

  def queue(hydra, url, **options)
    request(url, **options).tap { |made| hydra.queue(made) }
  end

  def test_every_request_gets_its_own_response
    server = serve do |connection|
      while (got = connection.read_request) do connection << response_bytes(got.target) end
    end
    hydra = hydra()
    requests = Array.new(100) { |index| queue(hydra, server.url("/#{index}")) }
    assert_nil hydra.run
    assert_equal Array.new(100) { |index| "/#{index}" }, requests.map { |made| made.response.body }
    assert_empty hydra.queued_requests
  end

  def test_never_more_in_flight_than_the_limit
    probe = ConcurrencyProbe.new(3, 20)
    server = serve_held(probe)
    hydra = hydra(max_concurrency: 3)
    20.times { queue(hydra, server.url) }
    hydra.run
    assert_equal 3, probe.most
    assert_equal 20, server.requests.size
  end

  def test_never_more_connections_to_a_host_than_the_limit
    probe = ConcurrencyProbe.new(2, 8)
    server = serve_held(probe)
    hydra = hydra(max_host_connections: 2)
    made = Array.new(8) { queue(hydra, server.url) }
    hydra.run
    assert_equal [2, [200] * 8], [probe.most, made.map { |one| one.response.code }]
  end

  def test_chains_keep_exactly_so_many_in_flight
    probe = ConcurrencyProbe.new(4, 30)
    server = serve_held(probe)
    hydra = hydra(max_concurrency: 50)
    left = 30
    chain = lambda do
      next if (left -= 1).negative?

      made = request(server.url)
      made.on_complete { chain.call }
      hydra.queue(made)
    end
    4.times { chain.call }
    hydra.run
    assert_equal [4, 30], [probe.most, server.requests.size]
  end

  def test_the_limit_may_change_and_is_checked
    hydra = hydra(max_concurrency: "7")
    assert_equal 7, hydra.max_concurrency
    assert_raises(ArgumentError) { hydra.max_concurrency = 0 }
    assert_equal 200, Typhoeus::Hydra.new.max_concurrency
  end

  def test_queue_front_comes_first
    server = serve do |connection|
      while (got = connection.read_request) do connection << response_bytes(got.target) end
    end
    hydra = hydra(max_concurrency: 1)
    queue(hydra, server.url("/second"))
    hydra.queue_front(request(server.url("/first")))
    assert_equal 2, hydra.queued_requests.size
    hydra.run
    assert_equal %w[/first /second], server.requests.map(&:target)
  end

  # While the first callback is busy, the other two responses arrive. Both are processed in one round: the first makes
  # room for another request, and then the callback of the second is busy.
  def test_a_callback_takes_no_time_from_a_request_that_follows
    hydra = hydra(max_concurrency: 3)
    server = serve_held(ConcurrencyProbe.new(3))
    3.times { queue(hydra, server.url).on_complete { sleep 1.2 } }
    following = Array.new(3) { queue(hydra, serve.url, timeout: 1, followlocation: true) }
    hydra.run
    assert_equal [[:ok, 200]] * 3, following.map { |made| [made.response.return_code, made.response.code] }
  end

  def test_abort_forgets_what_waits
    server = serve
    hydra = hydra(max_concurrency: 1)
    queue(hydra, server.url).on_complete { hydra.abort }
    rest = Array.new(3) { queue(hydra, server.url) }
    hydra.run
    assert_equal [nil, nil, nil], rest.map(&:response)
    assert_equal 1, server.requests.size
  end

  def test_a_callback_that_raises_ends_the_run_and_the_hydra_can_be_used_again
    server = serve
    hydra = hydra(max_concurrency: 1)
    queue(hydra, server.url).on_complete { raise IOError, "from the callback" }
    later = queue(hydra, server.url)
    assert_equal "from the callback", assert_raises(IOError) { hydra.run }.message
    assert_equal [later], hydra.queued_requests
    hydra.run
    assert_equal 200, later.response.code
  end

  def test_an_interrupt_cancels_requests_in_flight
    server = serve(script: [%i[read stall]])
    hydra = hydra()
    made = queue(hydra, server.url)
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { hydra.run } }
    assert_nil made.response
    assert_nil hydra.run
  end

  def test_a_callback_may_run_the_hydra_again
    server = serve
    hydra = hydra()
    inner = request(server.url)
    queue(hydra, server.url).on_complete do
      hydra.queue(inner)
      hydra.run
    end
    hydra.run
    assert_equal 200, inner.response.code
  end

  def test_every_callback_may_run_the_hydra_again
    server = serve
    hydra = hydra()
    outer, inner = Array.new(2) { Array.new(20) { request(server.url) } }
    outer.zip(inner) do |one, other|
      one.on_complete do
        hydra.queue(other)
        hydra.run
      end
      hydra.queue(one)
    end
    hydra.run
    assert_equal [200] * 40, (outer + inner).map { |made| made.response.code }
    assert_equal 40, server.requests.size
  end

  # Like libcurl: waiting after a refusal is left to the caller.
  def test_a_refused_request_does_not_delay_others
    server = serve do |connection|
      connection << response_bytes("", status: "503 Unavailable", "Retry-After" => 60) while connection.read_request
    end
    hydra = hydra(max_concurrency: 1)
    made = Array.new(3) { queue(hydra, server.url) }
    assert_quick { hydra.run }
    assert_equal [503] * 3, made.map { |one| one.response.code }
  end

  def test_failures_are_responses_with_a_return_code
    hydra = hydra()
    good = queue(hydra, serve.url)
    refused = queue(hydra, "127.0.0.1:#{refused_port}")
    malformed = queue(hydra, "")
    late = queue(hydra, serve(script: [%i[read stall]]).url, timeout_ms: 100)
    hydra.run
    assert_equal %i[ok couldnt_connect url_malformat operation_timedout],
                 [good, refused, malformed, late].map { |made| made.response.return_code }
  end

  def test_redirects_are_followed_side_by_side
    server = serve do |connection|
      while (got = connection.read_request)
        connection << (got.target == "/" ? redirect("/there") : response_bytes("there"))
      end
    end
    hydra = hydra(max_concurrency: 3)
    requests = Array.new(9) { queue(hydra, server.url, followlocation: true) }
    hydra.run
    assert_equal [["there", 1]] * 9, requests.map { |made| [made.response.body, made.response.redirect_count] }
  end

  def test_bodies_are_sent
    server = serve
    hydra = hydra()
    queue(hydra, server.url, method: :post, body: { a: 1 })
    queue(hydra, server.url, method: :put, set_read_callback: StringIO.new("b" * 200_000))
    hydra.run
    assert_equal ["a=1", "b" * 200_000], server.requests.map(&:body).sort
  end

  def test_memoize_sends_one_request_and_copies_the_response
    Typhoeus::Config.memoize = true
    server = serve
    hydra = hydra()
    requests = Array.new(3) { queue(hydra, server.url) }
    posts = Array.new(2) { queue(hydra, server.url, method: :post) }
    completed = 0
    requests.each { |made| made.on_complete { completed += 1 } }
    hydra.run
    assert_equal 3, server.requests.size
    assert_equal [3, 3], [completed, requests.map { |made| made.response.object_id }.uniq.size]
    assert_equal [200], (requests + posts).map { |made| made.response.code }.uniq
    assert_empty hydra.memory
  end

  def test_callbacks_of_all_requests_come_first
    order = []
    Typhoeus.on_complete { order << :all_complete }
    Typhoeus.on_success { order << :all_success }
    Typhoeus.on_failure { order << :all_failure }
    good = request(serve.url)
    good.on_complete { order << :complete }
    good.on_success { order << :success }
    bad = request(serve(response_bytes("", status: "500 Oops")).url)
    bad.on_failure { order << :failure }
    [good, bad].each(&:run)
    assert_equal %i[all_complete complete all_success success all_complete all_failure failure], order
  end

  def test_handled_response_is_what_the_last_callback_returned
    made = request(serve.url)
    assert_same made.run, made.response.handled_response
    made.on_complete { |response| response.code + 1 }
    made.run
    assert_equal 201, made.response.handled_response
  end

  def test_one_hydra_for_each_thread
    mine = Typhoeus::Hydra.hydra
    assert_same mine, Typhoeus::Hydra.hydra
    refute_same mine, Thread.new { Typhoeus::Hydra.hydra }.value
  end

  def test_options_that_only_libcurls_multi_has
    assert_equal 5, Typhoeus::Hydra.new(max_total_connections: 5, pipelining: 2).max_concurrency
    assert_raises(Typhoeus::Errors::UnsupportedOption) { Typhoeus::Hydra.new(socketfunction: 1) }
  end
end
