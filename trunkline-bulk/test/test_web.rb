# frozen_string_literal: true

require "puma"
require "puma/server"
require "rack"
require_relative "test_helper"
require_relative "../../trunkline-lab/test/support/browser" # shared with the test of the lab's page

# The page of runs, in Chromium.
class TestWeb < BulkTest
  Browser = Trunkline::Lab::Browser

  class Shown < Trunkline::Bulk
    class << self
      attr_accessor :items
    end
    source { Shown.items }
    request { |url| url }
    result { |_, _| nil }
    options slice: 5, timeout: 5
  end

  def setup
    super
    origin = serve { |target| target.end_with?("7") ? [404, "none"] : [200, "ok"] }
    Shown.items = Array.new(20) { |number| origin.url("/#{number}") } + ["http://bad <b>host</b>/"]
    Shown.start("run", state: state, progress: false)
  end

  def ask(web, path, method = "GET", **more)
    status, fields, body = web.call(Rack::MockRequest.env_for(path, method: method, **more))
    [status, fields, body.join]
  end

  def change(web, key, action, **fields)
    body = JSON.generate(key: key, action: action)
    ask(web, "/change", "POST", input: body, "HTTP_X_TRUNKLINE_BULK" => "1", **fields)
  end

  # Stores a report, as another process that works at the run does.
  def report(figures)
    store = Trunkline::Bulk::State.of(state)
    store.report(store.run("TestWeb::Shown/run").id, "another", figures, 30)
  end

  def test_what_it_answers
    web = Trunkline::Bulk::Web.new(state: state)
    status, fields, body = ask(web, "/")
    assert_equal [200, "text/html; charset=utf-8"], [status, fields["content-type"]]
    nonce = fields["content-security-policy"][/script-src 'nonce-([^']+)'/, 1]
    assert_equal 2, body.scan("nonce=\"#{nonce}\"").size
    refute_match(%r{(src|href)=|https?://(?!www\.w3\.org)}, body)
    run = JSON.parse(ask(web, "/runs.json")[2]).first
    assert_equal ["TestWeb::Shown/run", "done", 20, 1, ["retry_failed"]],
                 run.values_at("key", "state", "done", "failed", "actions")
    assert_equal 404, ask(web, "/other")[0]
  end

  def test_what_may_be_changed
    web = Trunkline::Bulk::Web.new(state: state)
    key = "TestWeb::Shown/run"
    assert_equal 403, ask(web, "/change", "POST", input: JSON.generate(key: key, action: "retry_failed"))[0]
    assert_equal 200, change(web, key, "retry_failed")[0]
    assert_equal 200, change(web, key, "pause")[0]
    assert_equal :paused, Shown.status("run", state: state).state
    assert_equal 422, change(web, key, "start")[0]
    assert_equal 404, change(web, "TestWeb::Shown/none", "pause")[0]
    assert_equal 400, ask(web, "/change", "POST", input: "[", "HTTP_X_TRUNKLINE_BULK" => "1")[0]
    assert_equal 403, change(Trunkline::Bulk::Web.new(state: state, actions: false), key, "pause")[0]
    Trunkline::Bulk::State.of(state).begin_run("Kernel/run", 5)
    assert_equal 422, change(web, "Kernel/run", "pause")[0]
  end

  def test_in_a_browser
    skip "no Chromium here (bin/setup installs it where there is a package of it)" unless Browser.program

    mounted = Rack::URLMap.new("/admin/bulk" => Trunkline::Bulk::Web.new(state: state))
    puma = Puma::Server.new(mounted)
    port = puma.add_tcp_listener("127.0.0.1", 0).addr[1]
    puma.run
    Browser.open do |browser|
      browser.go("http://127.0.0.1:#{port}/admin/bulk", width: 800)
      text = -> { browser.js("document.body.innerText") }
      assert_includes text.call, "20 done, 1 failed of 21"
      assert_includes text.call, "InvalidRequest"
      assert_equal 800, browser.js("document.documentElement.scrollWidth")
      browser.js("document.querySelector('[data-action=retry_failed]').click()")
      eventually("it is shown") { browser.js("document.querySelector('[data-action=pause]') !== null") }
      browser.js("document.querySelector('[data-action=pause]').click()")
      eventually("it is paused") { text.call.include?("paused") }
      assert_equal :paused, Shown.status("run", state: state).state
      report("in_flight" => 7, "rate" => 1.0, "slowest" => [["http://slow.test", 1, 2.5]])
      eventually("what is done now") { text.call.match?(%r{7 in flight.*slowest origins: http://slow.test 2.500 s}m) }
      Shown.start("run", state: state, progress: false)
      eventually("it is updated by itself") { browser.js("document.querySelector('.state').innerText") == "done" }
      assert_empty browser.complaints
    end
  ensure
    puma&.stop(true)
  end
end
