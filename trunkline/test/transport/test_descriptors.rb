# frozen_string_literal: true

require_relative "../test_helper"

# A process that cannot open more descriptors closes idle connections first; then each call fails with an error, and
# calls succeed again once descriptors are free. Each test runs in a separate process.
class TestDescriptors < TrunklineTest
  # Opens all remaining descriptors, runs the block, and closes them.
  PRELUDE = <<~RUBY
    require "small_scheduler"

    def without_descriptors
      held = []
      begin
        loop { held << File.open(File::NULL) }
      rescue Errno::EMFILE
        yield
      end
    ensure
      held.each(&:close)
    end

    def outcome
      result = yield
      result.is_a?(Trunkline::Response) ? result.status : summary(result)
    rescue Exception => error
      summary(error)
    end

    def summary(error)
      return error.class unless error.is_a?(Trunkline::Error)

      [error.class, error.sent, error.phase, error.errno == Errno::EMFILE::Errno, error.request&.url]
    end

    def in_reactor(&block)
      result = nil
      scheduler = @scheduler || SmallScheduler.new
      Thread.new do
        Fiber.set_scheduler(scheduler)
        Fiber.schedule { result = block.call }
      end.join
      result
    end

    CALL_STYLES = {
      get: ->(http, url) { http.get(url) },
      stream: ->(http, url) { http.get(url, stream: true).tap(&:body) },
      batch: ->(http, url) { http.batch { |batch| batch.get(url) }.first },
      each: ->(http, url) { http.enum_for(:each, [url]).first.last },
      map: ->(http, url) { http.map([url]).first },
      future: ->(http, url) { http.async.get(url).value }
    }
    URL = ENV.fetch("URL")
    OTHER = ENV.fetch("OTHER")
    Process.setrlimit(:NOFILE, 100)
    HTTP = Trunkline.new(timeout: 5, max_idle: 8, ca_file: ENV["CA"])
    # Java reads its classes when they are first needed, for which it must open files.
    if RUBY_ENGINE == "jruby"
      CALL_STYLES.each_value { |way| outcome { way.call(HTTP, "http://127.0.0.1:9") } }
      Addrinfo.getaddrinfo("localhost", nil, nil, :STREAM)
    end
  RUBY

  CALL_STYLES = %w[get stream batch each map future].freeze

  CALL_STYLES.each do |way|
    define_method("test_the_error_of_#{way}_without_descriptors_names_the_host") do
      skip "the engine in C may need a descriptor before it connects" unless Trunkline::ENGINE == :ruby

      server = serve
      message, phase, attempt = run_without(server.url, <<~RUBY)
        error = without_descriptors { CALL_STYLES[:#{way}].call(HTTP, URL) rescue $! }
        p [error.message, error.phase, error.attempt]
      RUBY
      assert_includes message, "failed connecting: no connection could be made (#{server.address}: Too many open files)"
      assert_equal [:connect, 1], [phase, attempt]
    end

    define_method("test_#{way}_without_descriptors") do
      server = serve
      error, after = run_without(server.url, <<~RUBY)
        error = without_descriptors { outcome { CALL_STYLES[:#{way}].call(HTTP, URL) } }
        p [error, outcome { CALL_STYLES[:#{way}].call(HTTP, URL) }]
      RUBY
      assert_reported error, server.url
      assert_equal 200, after, "all goes on"
      assert_equal 1, server.requests.size
    end

    define_method("test_#{way}_closes_idle_connections_first") do
      server = serve
      probe = ConcurrencyProbe.new(3)
      other = serve { |connection| connection << response_bytes while connection.read_request && probe.wait }
      results = run_without(server.url, <<~RUBY, other.url)
        3.times.map { Thread.new { HTTP.get(OTHER) } }.each(&:join)
        p [without_descriptors { outcome { CALL_STYLES[:#{way}].call(HTTP, URL) } }]
      RUBY
      assert_equal [200], results
    end

    define_method("test_#{way}_in_a_reactor_without_descriptors") do
      server = serve
      error, after = run_without(server.url, <<~RUBY)
        @scheduler = SmallScheduler.new
        error = without_descriptors { in_reactor { outcome { CALL_STYLES[:#{way}].call(HTTP, URL) } } }
        @scheduler = nil
        p [error, in_reactor { outcome { CALL_STYLES[:#{way}].call(HTTP, URL) } }]
      RUBY
      assert_reported error, server.url
      assert_equal 200, after
    end
  end

  # At most half of the 100 descriptors are for connections. A call that waits in the queue does so without a descriptor
  # when none is left.
  def test_more_fibers_than_descriptors
    probe = ConcurrencyProbe.new(50, 150)
    server = serve { |connection| connection << response_bytes while connection.read_request && probe.wait }
    results = run_without(server.url, <<~RUBY)
      @scheduler = SmallScheduler.new
      results = []
      Thread.new do
        Fiber.set_scheduler(@scheduler)
        150.times { Fiber.schedule { results << outcome { HTTP.get(URL, timeout: 20) } } }
      end.join
      p results
    RUBY
    assert_equal [200] * 150, results
    assert_equal 50, probe.most
  end

  def test_futures_continue_in_the_same_thread
    server = serve
    results = run_without(server.url, <<~RUBY)
      first = without_descriptors { 3.times.map { HTTP.async.get(URL) }.map { |future| outcome { future.value } } }
      p [first.map(&:first), outcome { HTTP.async.get(URL).value }]
    RUBY
    assert_equal [[:ConnectError] * 3, 200], results
  end

  def test_each_request_of_a_batch_gets_an_error
    server = serve
    results = run_without(server.url, <<~RUBY)
      p without_descriptors { HTTP.map([URL] * 5).map { |result| summary(result) } }
    RUBY
    assert_equal 5, results.size
    results.each { |result| assert_reported result, server.url }
  end

  # The resolver cannot look a name up either, and does not report the reason.
  def test_a_name_that_cannot_be_looked_up
    server = serve
    url = server.url.sub("127.0.0.1", "localhost")
    error, after = run_without(url, <<~RUBY)
      waiting = Trunkline.new(timeout: 5).tap { |http| http.get("http://127.0.0.1:#{server.port}/") }
      waiting.close
      error = without_descriptors { outcome { HTTP.get(URL) } }
      sleep 1.2
      p [error, outcome { HTTP.get(URL) }]
    RUBY
    assert_equal %i[ConnectError none], error.first(2)
    assert_equal 200, after
  end

  private

  def run_without(url, code, other = url)
    result = Subprocess.run(PRELUDE + code, { "URL" => url, "OTHER" => other, "CA" => TestCA.ca_file })
    assert_predicate result.status, :success?, result.err
    assert_empty result.err
    eval(result.out.gsub("Trunkline::", ":")) # rubocop:disable Security/Eval -- what the program above printed
  end

  def assert_reported(error, url)
    name, sent, phase, scarce, about = error
    assert_equal [:ConnectError, :none, true, url], [name, sent, scarce, about]
    assert_includes %i[queue connect], phase
  end
end
