# frozen_string_literal: true

# client.each and client.map, in plain threads and in a reactor.
module StreamTests
  def test_each_yields_requests_and_results_in_order_of_completion
    gate = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        gate.pop if request.target == "/slow"
        connection << response_bytes(request.target)
      end
    end
    seen = []
    client(server.url).each(%w[/slow /quick]) { |request, response| gate << seen.push([request, response.body]) }
    assert_equal [%w[/quick /quick], %w[/slow /slow]], seen
  end

  def test_each_takes_all_forms_of_a_request
    server = serve do |connection|
      while (request = connection.read_request)
        connection << response_bytes("#{request.verb} #{request.target} #{request["X-Name"]} #{request.body}".strip)
      end
    end
    http = client(server.url)
    earlier = http.post("/again", body: "body", headers: { "X-Name" => "kept" }).request
    items = ["/text", URI(server.url("/uri")), [:put, "/array", { body: "content" }], ["PROPFIND", "/two"],
             { method: :delete, url: "/hash", headers: { "X-Name" => "value" } }, { url: "/get" }, earlier]
    assert_equal ["GET /text", "GET /uri", "PUT /array  content", "PROPFIND /two", "DELETE /hash value", "GET /get",
                  "POST /again kept body"], http.map(items).map(&:body)
  end

  def test_each_takes_no_more_requests_than_it_can_send
    server = serve do |connection|
      while connection.read_request
        sleep 0.05
        connection << response_bytes
      end
    end
    http = client(server.url)
    http.each(["/"]) { nil } # a first call is slow enough to try other origins (OriginQueue::STALL)
    while_on_time do
      pulled = done = 0
      ahead = []
      endless = Enumerator.new { |requests| loop { requests << "/#{pulled += 1}" } }
      http.each(endless, concurrency: 5) do
        ahead << pulled - done
        break if (done += 1) == 30
      end
      assert_operator ahead.max, :<=, 5
    end
  end

  def test_each_takes_a_lazy_enumerable
    server = serve { |connection| reply_with_target(connection) }
    lazy = (1..Float::INFINITY).lazy.map { |number| "/#{number}" }
    bodies = []
    client(server.url).each(lazy) do |_, response|
      bodies << response.body
      break if bodies.size == 50
    end
    assert_equal 50, bodies.uniq.size
  end

  def test_leaving_each_early_cancels_what_is_in_flight
    server = serve do |connection|
      while (request = connection.read_request)
        request.target == "/1" ? connection << response_bytes : connection.stall
      end
    end
    http = client(server.url)
    cancelled = []
    urls = %w[/1 /2 /3 /4]
    http.each(urls, concurrency: 4, on_cancel: ->(request) { cancelled << request }) { |url, _| break if url == "/1" }
    assert_equal %w[/2 /3 /4], cancelled
    eventually { http.stats[:in_use].zero? }
    assert_equal 200, http.get("/1").status
  end

  def test_after_an_interrupt_every_request_of_an_array_has_a_result_or_is_named
    server = serve { |connection| reply_with_target(connection) }
    urls = Array.new(40) { |index| "/#{index}" }
    %i[each map].product([{ concurrency: 1 }, { concurrency: 3 }, { rate: 1 }, {}]).each do |way, options|
      results = []
      cancelled = []
      assert_raises(Interrupt) do
        client(server.url).public_send(way, urls, on_cancel: ->(url) { cancelled << url }, **options) do |url, _|
          results << url
          raise Interrupt
        end
      end
      assert_equal urls - results, cancelled, [way, options]
    end
  end

  # The interrupt may occur anywhere, including between pulling a request and starting it.
  def test_after_a_raise_from_another_thread_every_request_of_an_array_is_accounted_for
    server = serve { |connection| reply_with_target(connection) }
    http = client(server.url)
    urls = Array.new(3000) { |index| "/#{index}" }
    5.times do |round|
      results = []
      cancelled = []
      thread = Thread.new do
        http.each(urls, concurrency: 2, on_cancel: ->(url) { cancelled << url }) { |url, _| results << url }
      rescue Interrupt
        nil
      end
      thread.report_on_exception = false
      eventually { results.size > 2 * round }
      thread.raise(Interrupt)
      thread.join
      # One request may just have been passed to the block, which had not recorded it yet.
      assert_operator (urls - results - cancelled).size, :<=, 1
      assert_equal cancelled.uniq, cancelled
    end
  end

  def test_a_refused_array_reports_no_cancelled_requests
    cancelled = []
    assert_raises(Trunkline::InvalidRequest) do
      client(serve.url).each(["/", 3], on_cancel: ->(url) { cancelled << url }) { nil }
    end
    assert_empty cancelled
  end

  def test_after_an_interrupt_every_request_pulled_has_a_result_or_is_named
    server = serve do |connection|
      while (request = connection.read_request)
        request.target < "/3" ? connection << response_bytes : connection.stall
      end
    end
    http = client(server.url)
    pulled = []
    source = Enumerator.new { |requests| ("/1".."/9").each { |path| requests << path.tap { pulled << path } } }
    results = []
    cancelled = []
    assert_raises(Interrupt) do
      http.each(source, concurrency: 3, on_cancel: ->(request) { cancelled << request }) do |request, _|
        results << request
        raise Interrupt if results.size == 2
      end
    end
    assert_equal pulled, (results + cancelled).sort
    assert_includes cancelled, "/3"
    eventually { http.stats[:in_use].zero? }
  end

  def test_an_exception_of_the_block_of_each_is_raised
    http = client(serve.url)
    assert_raises(KeyError) { http.each(%w[/1 /2 /3]) { |_, response| raise KeyError, "here" if response.ok? } }
    assert_equal 200, http.get("/").status
  end

  def test_each_without_a_block_is_an_enumerator
    requests = Enumerator.produce("/1", &:succ)
    server = serve { |connection| reply_with_target(connection) }
    first = client(server.url).each(requests, concurrency: 2).first(3)
    assert_equal 3, first.size
    assert(first.all? { |request, response| request == response.body })
  end

  def test_reused_bodies_are_complete_in_their_block_and_empty_after_it
    paths = [5000, 5000, 20_000, 10, 0, 5000, 1, 70_000, 9000, 9000].map.with_index { |size, at| "/#{at}/#{size}" }
    server = serve { |connection| reply_with_body_of_size(connection) }
    kept = []
    client(server.url).each(paths, concurrency: 3, reuse_bodies: true) do |path, response|
      assert_equal body_of_size(path), response.body
      kept << [path, response.body, response.body.dup, response.body.byteslice(1, 100), response]
    end
    assert_equal paths.sort, kept.map(&:first).sort
    kept.each do |path, body, copy, part, response|
      assert_equal [200, "", ""], [response.status, response.body, body]
      assert_equal [body_of_size(path), body_of_size(path).byteslice(1, 100)], [copy, part]
    end
  end

  def test_reuse_does_not_change_frozen_bodies_and_errors
    server = serve { |connection| reply_with_body_of_size(connection) }
    paths = ["/1/6000", "/2/7000", "http://127.0.0.1:#{refused_port}/"]
    results = []
    client(server.url).each(paths, concurrency: 1, reuse_bodies: true) do |_, result|
      results << result
      result.body.freeze if result.is_a?(Trunkline::Response)
    end
    assert_equal [6000, 7000], results.first(2).map { |response| response.body.bytesize }
    assert_instance_of Trunkline::ConnectError, results.last
  end

  def test_bodies_are_unchanged_without_reuse
    server = serve { |connection| reply_with_body_of_size(connection) }
    kept = []
    client(server.url).each(%w[/1/5000 /2/5000], concurrency: 1) { |_, response| kept << response }
    assert_equal [5000, 5000], kept.map { |response| response.body.bytesize }
  end

  def test_reuse_is_only_for_each
    http = client(serve.url)
    { "map" => -> { http.map(["/"], reuse_bodies: true) },
      "batch" => -> { http.batch(reuse_bodies: true) { |batch| batch.get("/") } } }.each do |name, call|
      error = assert_raises(Trunkline::InvalidRequest, &call)
      assert_equal "reuse_bodies: is for each: what #{name} gives is kept", error.message
    end
    error = assert_raises(Trunkline::InvalidRequest) { http.each(["/"], reuse_bodies: 1) { nil } }
    assert_match(/reuse_bodies/, error.message)
  end

  def test_a_failed_request_yields_its_error
    gone = refused_port
    results = client(serve.url).map(["/", "http://127.0.0.1:#{gone}/"])
    assert_equal 200, results.first.status
    assert_instance_of Trunkline::ConnectError, results.last
  end

  def test_map_keeps_the_order_given
    server = serve do |connection|
      while (request = connection.read_request)
        sleep request.target[1..].to_f / 1000
        connection << response_bytes(request.target)
      end
    end
    paths = %w[/90 /1 /60 /2]
    http = client(server.url)
    assert_equal paths, http.map(paths).map(&:body)
    assert_equal(paths.map { |path| [path, 200] }, http.map(paths) { |request, response| [request, response.status] })
  end

  def test_a_host_that_hangs_does_not_block_the_slots_of_another
    hanging = serve(&:stall)
    quick = serve
    urls = (Array.new(20) { hanging.url } + Array.new(20) { quick.url }).each
    done = []
    client.each(urls, concurrency: 4) do |url, _|
      done << url
      break if done.size == 20
    end
    assert_equal [quick.url] * 20, done
  end

  def test_an_array_is_checked_before_anything_is_sent
    server = serve
    error = assert_raises(Trunkline::InvalidRequest) { client(server.url).each(["/", "/", 3]) { nil } }
    assert_match(/\Arequest 2: request: must be a URL.* got 3/, error.message)
    assert_empty server.requests
  end

  def test_a_bad_request_that_is_pulled_ends_it_by_its_index
    server = serve
    error = assert_raises(Trunkline::InvalidRequest) { client(server.url).each(["/", "/", 3].each) { nil } }
    assert_match(/\Arequest 2:/, error.message)
  end

  private

  # Paths have the form /number/size.
  def body_of_size(path)
    _, number, size = path.split("/")
    ((number.to_i % 10).to_s * size.to_i)
  end

  def reply_with_body_of_size(connection)
    while (request = connection.read_request)
      connection << response_bytes(body_of_size(request.target))
    end
  end

  def reply_with_target(connection)
    while (request = connection.read_request)
      connection << response_bytes(request.target)
    end
  end
end
