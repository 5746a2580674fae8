# frozen_string_literal: true

require_relative "support/signals"
require_relative "test_helper"

# Calls in a signal handler, where Ruby's Mutex cannot be locked.
class TestSignalHandlers < TrunklineTest
  include Signals

  POLICIES = { retry: true, breaker: true, rate: { per_second: 1e6 }, hedge: true, coalesce: true, cache: true,
               cookies: true, digest: %w[user secret] }.freeze

  def test_a_call_with_all_policies
    http = client(serve.url, **POLICIES)
    assert_equal [200] * 3, results_in_handlers(3) { http.get("/").status }
  end

  def test_while_the_main_thread_makes_such_calls
    http = client(serve.url, **POLICIES, coalesce: false)
    number = 0
    results = results_in_handlers(50, -> { http.get("/#{number += 1}") }) { http.get("/handler").status }
    assert_equal [200] * 50, results
    assert_equal 0, http.stats[:in_use]
  end

  def test_the_first_call_of_the_module
    assert_equal [["200"] * 3, ""], printed(<<~RUBY)
      trap(:USR1) do
        puts Trunkline.get(url, timeout: 10).status
        Trunkline.configure { |defaults| defaults.timeout = 10 }
        puts Trunkline.get(url).status, Trunkline.map([url]).first.status
      ensure
        done = true
      end
    RUBY
  end

  def test_the_first_calls_of_the_facades
    assert_equal [%w[200] * 3, ""], printed(<<~RUBY)
      require "trunkline/faraday"
      require "trunkline/net_http"
      require "trunkline/typhoeus"
      Trunkline::NetHTTP.install!
      faraday = Faraday.new(url) { |connection| connection.adapter :trunkline }
      faraday.app
      trap(:USR1) do
        hydra = Typhoeus::Hydra.new
        hydra.queue(request = Typhoeus::Request.new(url))
        hydra.run
        puts faraday.get("/").status, Net::HTTP.get_response(URI(url)).code, request.response.code
      ensure
        done = true
      end
    RUBY
  end

  LIST = ->(http) { http.each(%w[/0 /1 /2]).map { |_, response| response.status } }
  # name => [options of a client, a lambda that makes three calls with it]
  MANY = {
    batch: [{}, ->(http) { http.batch { |batch| 3.times { |number| batch.get("/#{number}") } }.map(&:status) }],
    list: [{}, LIST],
    limited_list: [{ rate: { per_second: 20, burst: 1 } }, LIST],
    limited_calls: [{ rate: { per_second: 20, burst: 1 } }, ->(http) { Array.new(3) { http.get("/").status } }],
    hedged_calls: [{ hedge: { after: 0.05 } }, ->(http) { Array.new(3) { http.get("/slow").status } }]
  }.freeze

  MANY.each do |name, (options, calls)|
    define_method(:"test_#{name}") do
      http = client(slow_server.url, **options)
      assert_equal [[200] * 3] * 2, results_in_handlers(2) { calls.call(http) }
    end

    define_method(:"test_#{name}_while_the_main_thread_makes_such_calls") do
      http = client(slow_server.url, **options)
      results = results_in_handlers(5, -> { assert_equal [200] * 3, calls.call(http) }) { calls.call(http) }
      assert_equal [[200] * 3] * 5, results
      assert_equal 0, http.stats[:in_use]
    end
  end

  def test_a_batch_that_runs_takes_nothing_from_a_handler
    http = client(slow_server.url)
    running = nil
    responses = []
    main = -> { responses.concat(http.batch { |batch| (running = batch).get("/slow") }.grep(Trunkline::Response)) }
    results = results_in_handlers(20, main) { sleep(0.01) && running&.get("/") }
    refusals = OWN_THREAD ? [] : ["a signal handler cannot add to a batch that runs"]
    assert_equal refusals, results.compact.map(&:message).uniq
    assert_equal [200], responses.map(&:status).uniq
  end

  # The thread of the futures may wait for code that the handler has interrupted.
  def test_no_futures
    http = client(serve.url)
    futures = results_in_handlers(1) { http.async.get("/") }
    assert_equal [OWN_THREAD ? Trunkline::Future : ThreadError], futures.map(&:class)
    assert_equal 200, http.async.get("/").value!.status
  end

  def test_downloads_listeners_and_stats_in_a_handler
    server = serve
    results = results_in_handlers(2) do
      http = client(server.url)
      bytes = Dir.mktmpdir { |folder| http.download("/", to: "#{folder}/file").bytes }
      [bytes, Trunkline.on(:call) { flunk }.off, Trunkline.stats.empty?, http.close]
    end
    assert_equal [[2, nil, false, nil]] * 2, results
  end

  private

  # @return [Array] the values that the block returned in signal handlers, or the errors that it raised
  def results_in_handlers(count, meanwhile = -> { sleep 0.01 })
    in_handlers(count, meanwhile) do
      yield
    rescue StandardError => error
      error
    end
  end

  def slow_server
    serve do |connection|
      while (request = connection.read_request)
        sleep 0.1 if request.target.start_with?("/slow")
        connection << response_bytes
      end
    end
  end

  # @return [Array(Array<String>, String)] the lines of output, and the error output
  def printed(code)
    result = Subprocess.run("url = #{serve.url.dump}\ndone = false\n#{code}#{<<~RUBY}")
      Process.kill(:USR1, Process.pid)
      sleep 0.01 until done
    RUBY
    [result.out.lines(chomp: true), result.err]
  end
end
