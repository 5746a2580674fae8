# frozen_string_literal: true

require "async"
require_relative "../test_helper"
require_relative "caller"

# Each case of the table, plain and over TLS, in every way to call and through the facades: it ends as the table says,
# and the next call of the same client is answered.
class TestHostileCases < TrunklineTest
  include HostileCaller

  time_limit 60

  HostileCases::ALL.each do |row|
    define_method(:"test_#{row.name}") { every_way(row) { serve_case(row) } unless row.only }
    define_method(:"test_#{row.name}_over_tls") { every_way(row) { serve_case(row, tls: TestCA.server_context) } }
    next unless row.facades?

    define_method(:"test_#{row.name}_through_the_facades") do
      server = serve_case(row, **(row.only ? { tls: TestCA.server_context } : {}))
      faraday(row, server)
      typhoeus(row.for(:typhoeus), server)
      net_http(row.for(:net_http), server)
    end
  end

  # The next call is to a good server.
  HostileCases::HANDSHAKES.each do |name, (_, expected, (identity, context))|
    define_method(:"test_#{name}") do
      bad = serve(tls: TestCA.server_context(identity, **context.to_h)) { flunk "nothing may be sent" }
      good = serve_case(HostileCases::ALL.first, tls: TestCA.server_context)
      each_way(but: WaysToCall::WAYS.keys - WAYS) do |way, call|
        http = secure_client(good.url)
        error = call.call(http, :get, bad.url)
        assert_equal ["Trunkline::#{expected}", :none], [error.class.name, error.sent], way
        assert_equal "good", http.get("/good").body
      end
    end
  end

  def test_the_page_is_that_of_the_table
    require_relative "page"
    path = File.expand_path("../../../docs/safety.md", __dir__)
    assert_equal HostilePage.text, File.read(path), "rake safety:docs writes docs/safety.md"
  end

  private

  # "/good" is answered as it should be; anything else as the case has it.
  def serve_case(row, **options)
    serve(**options) do |connection|
      while (request = connection.read_request)
        request.target == "/good" ? connection << answer("good") : row.script.call(connection)
      end
    end
  end

  # As Net::HTTP after install!, for one session.
  def net_http(row, server)
    http = Trunkline::PersistentHttpClient.get(server.url, ca_file: TestCA.ca_file, read_timeout: 2)
    result = begin
      http.get("/")
    rescue StandardError => error
      error.cause
    end
    check(row, :net_http, result) { http.get("/good").body }
  ensure
    Trunkline::PersistentHttpClient.clear
  end
end
