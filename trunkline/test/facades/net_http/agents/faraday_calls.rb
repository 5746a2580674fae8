# frozen_string_literal: true

require "faraday"
require "faraday/net_http"

module Agents
  # The calls that each run makes with Faraday, and their results for the caller: with the adapter for Net::HTTP, or
  # with Trunkline's. The servers and cases are those of Calls.
  class FaradayCalls < Calls
    # A subclass, since for Faraday's own Net::HTTP adapter Sentry leaves the requests to its Net::HTTP instrumentation.
    class PlainAdapter < Faraday::Adapter::NetHttp
    end
    Faraday::Adapter.register_middleware(plain: PlainAdapter)

    class << self
      attr_accessor :adapter
    end
    self.adapter = :plain

    private

    def get
      note { call(:get).get("/ok", page: 2) }
      note { call(:get).get("/missing", nil, "X-Mine" => "1") }
      note { call(:get).head("/ok") }
      note { call(:get).then { |faraday| [faraday.get("/last"), faraday.get("/ok")].map { |got| plain(got) } } }
      note { call(:secure, ssl: { ca_file: @ca_file }).get("/ok") }
    end

    def post
      note { call(:post).post("/ok", '{"a":1}', "Content-Type" => "application/json") }
      note { call(:post) { |faraday| faraday.request(:url_encoded) }.post("/ok", a: 1) }
      note { call(:post).put("/ok", "text") }
      note { call(:post).delete("/ok") }
      REPEATED.times { note { call(:failing) { |faraday| faraday.response(:raise_error) }.post("/failing", "a=1") } }
    end

    def stream
      note { pieces { |take| streamed(take) } }
      note { streamed(->(*) { raise ArgumentError, "from the block" }) }
    end

    def streamed(on_data)
      call(:stream).get("/chunked") { |request| request.options.on_data = on_data }
    end

    def error
      REPEATED.times { note { call(:refused).get("/ok") } }
      REPEATED.times { note { call(:reset).post("/reset", "a=1") } }
      REPEATED.times { note { call(:closed).post("/closed", "a=1") } }
      note { call(:untrusted, ssl: { ca_file: @ca_file }).get("/ok") }
    end

    def timeout
      REPEATED.times { note { call(:silent, request: { timeout: 0.2 }).post("/silent") } }
      REPEATED.times { note { call(:stalled, request: { timeout: 0.2 }).post("/stalled", "a=1") } }
    end

    def call(server, ssl: nil, **options)
      Faraday.new("#{ssl ? "https" : "http"}://127.0.0.1:#{@ports.fetch(server)}", ssl: ssl, **options) do |faraday|
        yield faraday if block_given?
        faraday.adapter self.class.adapter
      end
    end

    # Every adapter has its own error messages.
    def own_message?(error) = error.is_a?(Faraday::Error)

    def plain(value)
      return super unless value.is_a?(Faraday::Response)

      { status: value.status, reason: value.reason_phrase, headers: value.headers.to_a, body: value.body }
    end
  end
end
