# frozen_string_literal: true

require_relative "../test_helper"
require "delegate"
require "logger"
require "rack"
require "rack/lint"
require "rack/mock"
require "sidekiq"
require "stringio"
require "trunkline/insight"

# The middlewares, and the panel as HTML.
class TestInsightMiddleware < TrunklineTest
  PAGE = "<!doctype html><title>Orders</title><body><h1>Orders \u00e9</h1></body></html>"
  HTML = { "content-type" => "text/html; charset=utf-8", "etag" => "\"1\"" }.freeze

  def setup
    super
    @log = StringIO.new
    Trunkline::Insight.logger = Logger.new(@log)
    @http = client(serve.url)
  end

  def teardown
    Trunkline::Insight.clear
    Trunkline::Insight.logger = Trunkline::Insight.sample = nil
    super
  end

  def app(headers: HTML, status: 200, body: [PAGE], calls: 4)
    lambda do |_env|
      calls.times { |id| @http.get("/users/#{id}") }
      fields = { "content-length" => body.sum(&:bytesize).to_s, **headers } if body.is_a?(Array)
      [status, (fields || headers).dup, body]
    end
  end

  # @return [Rack::MockResponse] a response that Rack::Lint has checked
  def get(app, path = "/orders/12", panel: true, method: "GET", **options)
    linted = Rack::Lint.new(Trunkline::Insight::Middleware.new(Rack::Lint.new(app), panel: panel, **options))
    Rack::MockRequest.new(linted).request(method, path)
  end

  def test_findings_are_logged_and_stored
    get(app)

    assert_match(%r{WARN -- : GET /orders/:id: 4 calls to .* one after another \(GET /users/:id x 4\), }, @log.string)
    assert_equal ["GET /orders/:id"], Trunkline::Insight.report.reports.map(&:name)
    assert_includes Trunkline::Insight.report.to_s, "GET /orders/:id: 4 calls"
  end

  def test_the_action_of_rails_is_the_name
    controller = Struct.new(:action_name)
    self.class.const_set(:OrdersController, controller) unless self.class.const_defined?(:OrdersController)
    inner = app
    get(->(env) { inner.call(env.merge!("action_controller.instance" => controller.new("index"))) })

    assert_includes @log.string, "OrdersController#index: 4 calls"
  end

  def test_repeated_findings_are_one_line
    2.times { get(app) }

    assert_equal 1, Trunkline::Insight.report.findings.size
    assert_includes Trunkline::Insight.report.to_s, "(2 times; this was the worst)"
  end

  def test_pages_get_one_panel_and_the_right_length
    page = get(app)

    assert_equal 1, page.body.scan("id=\"trunkline-insight\"").size
    text = page.body.dup.force_encoding("UTF-8")

    assert_includes text, "Orders \u00e9</h1><aside id=\"trunkline-insight\""
    assert text.end_with?("</aside>\n</body></html>")
    assert_equal page.body.bytesize, page["content-length"].to_i
    assert_nil page["etag"]
    refute_match(/(?:src|href)=|url\(|<script|@import/, page.body)
  end

  def test_the_panel_escapes_what_it_shows
    html = Trunkline::Insight::Panel.new(Trunkline::Insight.watch("<b>&") { 3.times { @http.get("/<i>") } }).to_s

    assert_includes html, "&lt;b&gt;&amp;: 3 calls"
    refute_match(/<[bi]>/, html)
  end

  def test_responses_that_get_no_panel
    plain = { "content-type" => "application/json" }
    file = HTML.merge("content-disposition" => "attachment")
    packed = HTML.merge("content-encoding" => "gzip")
    lazy = Enumerator.new { |out| out << PAGE }
    [[app(headers: plain), {}], [app(headers: file), {}], [app(headers: packed), {}], [app(status: 404), {}],
     [app(body: ["<p>a part</p>"]), {}], [app(body: lazy), {}], [app, { panel: false }]].each do |one, options|
      refute_includes get(one, **options).body, "trunkline-insight"
    end
    assert_empty get(app(body: []), method: "HEAD").body
  end

  # Pages without the end tags that HTML permits to omit.
  def test_pages_without_the_end_of_their_body
    [["<html><p>a", ""], ["\uFEFF<!DOCTYPE html><p>a", ""], ["<p>a</html>\n", "</html>\n"]].each do |page, rest|
      shown = get(app(body: [page])).body.force_encoding("UTF-8")

      assert_operator shown, :start_with?, page.delete_suffix(rest)
      assert shown.end_with?("</aside>\n#{rest}"), shown[-30..]
    end
  end

  # Like Rails' body, whose to_ary returns the object from which the body was made, which need not be an Array.
  def test_a_body_that_is_made_of_no_array_goes_out_as_it_is
    body = Class.new(SimpleDelegator) { def to_ary = __getobj__.each }.new([PAGE].each_entry)
    page = Trunkline::Insight::Middleware.new(->(_) { [200, HTML.dup, body] }, panel: true)

    assert_equal [200, HTML, body], page.call(Rack::MockRequest.env_for("/"))
  end

  def test_a_panel_that_cannot_be_made_harms_no_page
    log = StringIO.new
    Trunkline.configure { |c| c.logger = Logger.new(log) }
    response = Trunkline::Insight::Panel.add([200, HTML, [PAGE]], Object.new, {})

    assert_equal [200, HTML, [PAGE.b]], response
    assert_includes log.string, "NoMethodError"
  ensure
    Trunkline.configure { |c| c.logger = nil }
  end

  def test_production_is_not_watched_without_a_sample_rate
    with_env("RAILS_ENV" => "production") do
      get(app)

      assert_equal [0.0, ""], [Trunkline::Insight.sample, @log.string]
      Trunkline::Insight.sample = 1
      get(app)

      refute_empty @log.string
      refute_includes Trunkline::Insight::Middleware.new(app).call(Rack::MockRequest.env_for("/"))[2].join, "aside"
    end
  end

  def test_a_share_is_watched
    Trunkline::Insight.sample = 0.5
    60.times { get(app(calls: 3), panel: false) }
    watched = Trunkline::Insight.report.reports.size

    assert_includes 5..55, watched # fails by chance once in 10^10 runs
  end

  def test_an_application_that_raises
    failing = ->(env) { app.call(env) && raise(KeyError, "mine") }

    assert_raises(KeyError) { get(failing) }
    assert_includes @log.string, "4 calls"
    assert_nil Trunkline::Insight.current
  end

  def test_a_logger_that_raises_harms_no_request
    def (Trunkline::Insight.logger = Object.new).warn(*) = raise("full")
    log = StringIO.new
    Trunkline.configure { |c| c.logger = Logger.new(log) }

    assert_equal 200, get(app).status
    assert_includes log.string, "RuntimeError: full"
  ensure
    Trunkline.configure { |c| c.logger = nil }
  end

  def test_jobs_of_sidekiq
    chain = Sidekiq::Middleware::Chain.new(Sidekiq.default_configuration)
    chain.add(Trunkline::Insight::JobMiddleware)
    done = chain.invoke(nil, { "class" => "ImportJob" }, "default") { 3.times { |id| @http.get("/users/#{id}") } }

    assert_equal 3, done
    assert_includes @log.string, "ImportJob: 3 calls"
  end

  private

  def with_env(changes)
    before = changes.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(changes)
    yield
  ensure
    ENV.update(before)
  end
end
