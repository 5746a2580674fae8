# frozen_string_literal: true

require "faraday"
require_relative "../../test_helper"
require_relative "../../support/secret_leak_check"
require "faraday/adapter/trunkline"

# Texts of Faraday errors, of the adapter and of the parallel manager must contain no credential.
class TestFaradaySecrets < TrunklineTest
  include SecretLeakCheck

  KEY = "-----BEGIN PRIVATE KEY-----\n#{CANARY}\n-----END PRIVATE KEY-----\n".freeze

  def test_an_adapter
    server = serve
    faraday = connection(server.url, bearer: CANARY, headers: { "X-Own" => CANARY })
    assert_equal 200, faraday.get("/", { token: CANARY }).status
    assert_hidden faraday.app, faraday.app.instance_variable_get(:@client)
    assert_includes server.raw_requests.join, CANARY
  ensure
    faraday&.close
  end

  def test_errors
    [{ bearer: CANARY }, { basic: ["user", CANARY] }, { headers: { "X-Own" => CANARY } }].each do |options|
      faraday = connection("http://user:#{CANARY}@127.0.0.1:#{refused_port}", **options)
      error = raised { faraday.post("/?token=#{CANARY}", "password=#{CANARY}", "Authorization" => CANARY) }
      assert_kind_of Faraday::ConnectionFailed, error
      assert_hidden error, error.wrapped_exception
    end
  end

  def test_requests_side_by_side
    faraday = connection("http://127.0.0.1:#{refused_port}", bearer: CANARY)
    manager = nil
    error = raised do
      faraday.in_parallel do
        faraday.get("/")
        assert_hidden manager = faraday.parallel_manager
      end
    end
    assert_hidden error, manager
  end

  def test_refused_options_hide_secrets
    [{ proxy: "http://user:#{CANARY}@127.0.0.1:9/x y" }, { ssl: { client_key: KEY, client_cert: KEY } },
     { ssl: { client_key: CANARY, client_cert: CANARY } }, { ssl: { ca_file: KEY } }].each do |options|
      error = raised { Faraday.new("https://127.0.0.1:9", **options) { |builder| builder.adapter :trunkline }.get("/") }
      next if error.is_a?(URI::Error) # raised by Faraday itself

      assert_hidden error
    end
  end

  private

  def connection(url, **options)
    Faraday.new(url) { |builder| builder.adapter :trunkline, timeout: 30, **options }
  end
end
