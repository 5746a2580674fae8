# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/subprocess"
require_relative "support/websocket_peer"

# Files that are loaded on first use, also in a fiber of a scheduler (Async needs Ruby 3.2 to load a file in one).
class TestLoading < TrunklineTest
  # @return [String] the program's output
  def in_a_fiber(code)
    result = Subprocess.run(%(require "fibers"; Sync { #{code} }))
    assert_predicate result.status, :success?, result.err
    result.out
  end

  { "policies: :standard" => "policies: :standard", "all policies" =>
      "breaker: true, rate: { per_second: 9 }, hedge: true, coalesce: true, cache: true, cookies: true, retry: true, " \
      "deadline_header: 'Grpc-Timeout', digest: %w[user secret], content_digest: true" }.each do |what, options|
    define_method(:"test_a_client_with_#{what}") do
      server = serve
      out = in_a_fiber("print Trunkline.new(#{server.url.inspect}, timeout: 9, #{options}).get('/').status")
      assert_equal "200", out
    end
  end

  def test_policies_of_a_call
    server = serve
    out = in_a_fiber("print Trunkline.get(#{server.url.inspect}, timeout: 9, retry: true).status")
    assert_equal "200", out
  end

  def test_fibers_that_begin_at_once_share_the_thread_that_loads
    server = serve
    code = <<~RUBY
      require "fibers"
      http = Trunkline.new(ARGV_URL, timeout: 9)
      threads = 0
      TracePoint.new(:thread_begin) { threads += 1 }.enable
      statuses = Sync { Array.new(20) { Async { http.get("/", max_body_bytes: 9).status } }.map(&:wait) }
      print statuses.uniq, threads < 5
    RUBY
    out = Subprocess.run(code.sub("ARGV_URL", server.url.inspect)).out
    assert_equal "[200]true", out
  end

  def test_a_websocket
    server = serve { |connection| WebSocketPeer.new(connection).tap(&:accept).echo }
    out = in_a_fiber("Trunkline.new(#{server.url.inspect}, timeout: 9).websocket { print _1.write('a').read }")
    assert_equal "a", out
  end

  def test_use_of_autoloaded_gems_in_a_fiber
    server = serve
    out = in_a_fiber("http = Trunkline.new(#{server.url.inspect}, timeout: 9); print http.post('/', multipart: " \
                     "{ a: Trunkline::Part.new('x', filename: 'a.png') }).status; " \
                     "http.get('http://bücher.test') rescue 0")
    assert_match(/\A200/, out)
  end
end
