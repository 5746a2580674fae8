# frozen_string_literal: true

require_relative "../test_helper"

class TestFutureGroups < TrunklineTest
  # Responds to /fast at once, to /slow after a while, and to /never not at all.
  def api
    @api ||= client(opened(ScriptedServer.new { |connection| serve(connection) }).url)
  end

  def serve(connection)
    while (request = connection.read_request)
      path = request.raw[%r{/\w+}]
      return connection.stall if path == "/never"

      sleep 0.15 if path == "/slow"
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.size}\r\n\r\n#{path}")
    end
  end

  def get(path, **options) = api.async.get(path, options)
  def failing = get("/never", timeout: 0.1)

  def test_all_returns_results_in_the_order_given
    values = Trunkline::Future.all(get("/slow"), get("/fast")).value!
    assert_equal %w[/slow /fast], values.map(&:body)
    assert_equal [], Trunkline::Future.all.value!
  end

  def test_then_of_all_passes_the_values_as_parameters
    all = Trunkline::Future.all(get("/slow"), get("/fast"))
    assert_equal "/slow/fast", all.then { |slow, fast| slow.body + fast.body }.value!
    assert_equal 2, all.then(&:size).value!
    assert_raises(Trunkline::InvalidRequest) { all.then(&->(_, _) {}) }
  end

  def test_all_ends_at_the_first_error
    never = get("/never")
    combined = Trunkline::Future.all([failing, never])
    assert_kind_of Trunkline::TimeoutError, combined.value(10)
    refute_predicate never, :ready?
    never.cancel
  end

  def test_all_may_cancel_the_others
    never = get("/never")
    assert_kind_of Trunkline::TimeoutError, Trunkline::Future.all(failing, never, cancel: true).value(2)
    assert_kind_of Trunkline::Cancelled, never.value(2)
  end

  def test_any_returns_the_first_response
    assert_equal "/slow", Trunkline::Future.any(failing, get("/slow")).value!.body
    assert_kind_of Trunkline::TimeoutError, Trunkline::Future.any(failing, failing).value(2)
  end

  def test_race_returns_the_first_result
    never = get("/never")
    assert_equal "/fast", Trunkline::Future.race(never, get("/fast"), cancel: true).value!.body
    assert_kind_of Trunkline::Cancelled, never.value(2)
    assert_kind_of Trunkline::TimeoutError, Trunkline::Future.race(failing).value(2)
  end

  def test_nil_is_a_value
    assert_nil Trunkline::Future.race(failing.rescue { nil }).value!(2)
    assert_nil Trunkline::Future.any(get("/fast").then { nil }, failing).value!(2)
    assert_predicate Trunkline::Future.race(get("/fast").then { nil }).wait(2), :ready?
    assert_equal [nil], Trunkline::Future.all(get("/fast").then { nil }).value!(2)
  end

  def test_bad_input
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Future.race }
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Future.any([]) }
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Future.all(1) }
    assert_raises(Trunkline::InvalidRequest) { failing.rescue }
  end

  def test_rescue
    assert_equal "instead", failing.rescue { |error| error && "instead" }.value!
    assert_equal :timeout, failing.rescue(Trunkline::TimeoutError) { :timeout }.value!
    assert_kind_of Trunkline::TimeoutError, failing.rescue(Trunkline::TLSError) { :tls }.value
    assert_equal "/fast", get("/fast").rescue { :not_called }.value!.body
    assert_equal "/fast", failing.rescue { get("/fast") }.value!.body
    assert_equal 1, failing.rescue { 0 }.then { |value| value + 1 }.value!
    assert_equal "oops", failing.rescue { raise "oops" }.value.message
  end

  def test_wait
    slow = get("/slow")
    assert_nil slow.wait(0.01)
    assert_same slow, slow.wait
    assert_kind_of Trunkline::TimeoutError, failing.wait.value
  end

  def test_the_methods_of_the_module
    url = api.get("/fast").url
    assert_equal %w[/fast], Trunkline.map([url], timeout: 5).map(&:body)
    assert_equal "/fast", Trunkline.batch(timeout: 5) { |batch| batch.get(url) }.first.body
    seen = []
    Trunkline.each([url], timeout: 5) { |_url, response| seen << response.status }
    assert_equal [200], seen
    assert_equal 200, Trunkline.async.get(url, timeout: 5).value!.status
  end
end
