# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/subprocess"
require "rspec/core"
require "rspec/expectations"
require "trunkline/insight"
require "webmock" # without webmock/minitest: the tests enable it themselves

# The assertions as an application's tests use them.
class TestInsightAssertions < TrunklineTest
  include Trunkline::Insight::Assertions

  def setup
    super
    @http = client(serve.url)
  end

  def teardown
    Trunkline::Insight.clear
    super
  end

  def users(count) = count.times { |id| @http.get("/users/#{id}") }

  PLACE = "#{__FILE__.delete_prefix("#{Dir.pwd}/")}:#{__LINE__ - 2}".freeze

  def test_the_assertion
    assert_no_http_n_plus_one { users(2) }
    assert_no_http_n_plus_one { @http.map(%w[/users/1 /users/2 /users/3]) }
    error = assert_raises(Minitest::Assertion) { assert_no_http_n_plus_one("index") { users(3) } }

    assert_match(/\Aindex\nExpected no HTTP N\+1:\n3 calls to .*\(GET .users.:id x 3\), /, error.message)
    assert_includes error.message, " #{PLACE}\n  Make them in one batch"
    assert_raises(Minitest::Assertion) { assert_no_http_n_plus_one(min: 2) { users(2) } }
  end

  def test_the_same_url_again_fails
    error = assert_raises(Minitest::Assertion) { assert_no_http_n_plus_one { 2.times { @http.get("/settings") } } }

    assert_includes error.message, "for the same URL (GET /settings)"
  end

  def test_other_findings_do_not_fail
    assert_no_http_n_plus_one { Net::HTTP.get(URI("#{@http.get("/a").url}/b")) }
  end

  def test_examples_of_rspec_have_the_matcher
    ran = Subprocess.run(<<~RUBY, gems: nil)
      $VERBOSE = nil # the warnings of other gems
      require "rspec/core"
      require "trunkline/insight"
      RSpec.describe("orders") do
        it("is quick") { expect { 1 }.not_to make_http_n_plus_one }
      end
      RSpec::Core::Runner.disable_autorun!
      exit RSpec::Core::Runner.run([])
    RUBY

    assert_predicate ran.status, :success?, ran.out + ran.err
    assert_includes ran.out, "1 example, 0 failures"
  end

  def test_the_matcher
    one = RSpec::Core::ExampleGroup.describe("matcher").include(Trunkline::Insight::Matchers).new

    one.expect { users(2) }.not_to one.make_http_n_plus_one
    one.expect { users(2) }.to one.make_http_n_plus_one(min: 2)
    error = assert_raises(RSpec::Expectations::ExpectationNotMetError) do
      one.expect { users(3) }.not_to one.make_http_n_plus_one
    end

    assert_includes error.message, " #{PLACE}\n"
    error = assert_raises(RSpec::Expectations::ExpectationNotMetError) do
      one.expect { users(1) }.to one.make_http_n_plus_one
    end

    assert_includes error.message, "expected an HTTP N+1, but there were 1 call, "
  end

  def test_stubs_count_as_calls
    WebMock.enable!
    WebMock.stub_request(:get, %r{api\.test/users/}).to_return(body: "{}")

    error = assert_raises(Minitest::Assertion) do
      assert_no_http_n_plus_one { 3.times { |id| Net::HTTP.get(URI("http://api.test/users/#{id}")) } }
    end
    assert_includes error.message, "3 calls to api.test one after another (GET /users/:id x 3)"
  ensure
    WebMock.reset!
    WebMock.disable!
  end
end
