# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/subprocess"

# A Rails application whose pages and jobs are watched because it requires "trunkline/insight". It runs in a program of
# its own, since Rails changes Ruby's core classes.
class TestInsightRails < TrunklineTest
  PRELUDE = <<~RUBY
    $VERBOSE = nil # the warnings of other gems
    require "json"
    require "logger"
    require "rails"
    require "action_controller/railtie"
    require "active_job/railtie"
    require "active_record"
    require "trunkline/insight"

    LOG = StringIO.new
    class Shop < Rails::Application
      config.root = Dir.pwd
      config.eager_load = false
      config.consider_all_requests_local = true
      config.secret_key_base = "a" * 64
      config.hosts.clear
      config.logger = Logger.new(LOG)
      config.active_job.queue_adapter = :inline
      config.content_security_policy { |policy| policy.default_src :none; policy.style_src :self }
      config.content_security_policy_nonce_generator = ->(_request) { "n1" }
      config.content_security_policy_nonce_directives = %w[style-src]
    end

    HTTP = Trunkline.new(ENV.fetch("ORIGIN"), timeout: 5)

    class OrdersController < ActionController::Base
      def index
        4.times { |id| HTTP.get("/users/\#{id}") }
        render html: "<body><h1>Orders</h1></body>".html_safe
      end

      def create
        ActiveRecord::Base.transaction { HTTP.post("/payments") }
        head :no_content
      end

      def show
        HTTP.get("/users/1")
        ActiveRecord::Base.transaction(joinable: false) { HTTP.get("/users/2") } # as Rails wraps a test
        head :no_content
      end
    end

    class ImportJob < ActiveJob::Base
      def perform = 3.times { |id| HTTP.get("/users/\#{id}") }
    end

    Shop.initialize!
    Shop.routes.draw { resources :orders, only: %i[index create show] }
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")

    def ask(method, path)
      status, headers, body = Shop.call(Rack::MockRequest.env_for(path, method: method))
      html = +""
      body.each { |part| html << part }
      body.close if body.respond_to?(:close)
      { status: status, policy: headers["content-security-policy"], html: html, log: LOG.string }
    end
  RUBY

  # @param code [String] code whose value is a Hash for JSON
  def result(code, environment = "development")
    ran = Subprocess.run("#{PRELUDE}puts JSON.generate(begin\n#{code}\nend)",
                         { "RAILS_ENV" => environment, "ORIGIN" => serve.url("") }, gems: nil)
    assert_predicate ran.status, :success?, ran.err
    JSON.parse(ran.out, symbolize_names: true)
  end

  def test_a_page_with_a_loop
    page = result("ask('GET', '/orders')")

    assert_equal 200, page[:status]
    assert_match(/WARN -- : OrdersController#index: 4 calls to .* one after another \(GET .users.:id x 4\), /,
                 page[:log])
    assert_includes page[:html], "<style nonce=\"n1\">"
    assert_includes page[:policy], "style-src 'self' 'nonce-n1'"
    assert_match(/<h1>Orders<.h1><aside id="trunkline-insight" data-findings="1".*OrdersController#index/m, page[:html])
  end

  def test_calls_inside_a_transaction
    page = result("ask('POST', '/orders')")

    assert_match(/OrdersController#create: 1 call to \S+ inside a database transaction, /, page[:log])
    refute_includes result("ask('GET', '/orders/1')")[:log], "transaction"
  end

  def test_a_job
    log = result("ImportJob.perform_later; { log: LOG.string }")[:log]

    assert_includes log, "ImportJob: 3 calls to "
  end

  def test_production
    page = result("ask('GET', '/orders')", "production")

    assert_equal [200, false, false], [page[:status], *%i[log html].map { |name| page[name].include?("one after") }]
    page = result("Trunkline::Insight.sample = 1; ask('GET', '/orders')", "production")

    assert_equal [true, false], %i[log html].map { |name| page[name].include?("one after another") }
  end
end
