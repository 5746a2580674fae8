# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"
require_relative "caller"
require_relative "http2_cases"

# Runs each case of HTTP/2, with prior knowledge in every way to call, and over TLS by a single call and in a fiber,
# like the HTTP/1.1 cases in test_cases.rb. The Net::HTTP facade never speaks HTTP/2.
class TestHostileHTTP2Cases < HTTP2Test
  include HostileCaller

  HostileHTTP2::ALL.each do |row|
    define_method(:"test_#{row.name}") { every_call_style(row, http: :h2) { serve_case(row) } }
    define_method(:"test_#{row.name}_over_tls") do
      every_call_style(row, styles: %i[alone], http: :h2) { serve_case(row, tls: true) }
    end
    next unless row.facades?

    define_method(:"test_#{row.name}_through_the_facades") do
      server = serve_case(row)
      faraday(row, server, http: :h2)
      typhoeus(row.for(:typhoeus), server, http_version: :httpv2_prior_knowledge)
    end
  end

  private

  def serve_case(row, **options)
    options[:grants] = :never if row.verb == :post
    serve_frames(**options) do |stream|
      stream.target == "/good" ? stream.answer("good") : row.script.call(stream)
    end
  end
end
