# frozen_string_literal: true

require_relative "../test_helper"

# Processes with http_proxy and similar variables in their environment.
class TestProxyEnvironment < TrunklineTest
  # Returns the output of a program with that environment.
  def output_of(environment, code)
    run = Subprocess.run(code, environment)
    assert_predicate run.status, :success?, run.err
    run.out
  end

  GET = 'puts Trunkline.get("http://api.test/path", timeout: 5).body'

  def test_the_environments_proxy_is_used
    proxy = serve
    assert_equal "ok\n", output_of({ "http_proxy" => "http://robin:secret@#{proxy.address}" }, GET)
    assert_equal "http://api.test/path", proxy.requests.last.target
    assert_equal "Basic #{["robin:secret"].pack("m0")}", proxy.requests.last["Proxy-Authorization"]
  end

  def test_no_proxy_for_localhost_or_with_proxy_false
    proxy = serve(response_bytes("proxied"))
    server = serve
    environment = { "all_proxy" => "http://#{proxy.address}" }
    assert_equal "ok\n", output_of(environment, "puts Trunkline.get(#{server.url.inspect}, timeout: 5).body")
    assert_equal "proxied\n", output_of(environment, GET)
    code = "begin; Trunkline.get('http://nowhere.invalid', timeout: 5, proxy: false); " \
           "rescue Trunkline::ResolveError; puts 'direct'; end"
    assert_equal "direct\n", output_of(environment, code)
    assert_equal 1, proxy.requests.size
  end

  def test_a_proxy_that_is_none
    code = "begin; #{GET}; rescue Trunkline::InvalidRequest => error; puts error.message; end"
    message = output_of({ "HTTP_PROXY" => "gopher://robin:secret@proxy.test" }, code)
    assert_match(/\AHTTP_PROXY: must be a URL such as/, message)
    refute_match(/secret/, message)
  end
end
