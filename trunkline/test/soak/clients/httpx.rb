# frozen_string_literal: true

require "set" # httpx uses it, and Ruby 3.1 does not load it
require "httpx"
require_relative "client"

# httpx in threads, with a session each, over plain HTTP/1.1, TLS and HTTP/2.
class HTTPXClient < SoakClient
  private

  def start
    @sessions = Array.new(6) do
      HTTPX.plugin(:persistent).with(ssl: { ca_file: @ca_file }, timeout: { request_timeout: 5, connect_timeout: 5 })
    end
    bases = @bases.values_at(:plain, :tls, :h2)
    work(6) do |counts, number|
      one(counts, number) do |verb, path|
        url = bases[number % 3] + path
        session = @sessions[number]
        response = verb == :post ? session.post(url, body: "b" * 1000) : session.get(url)
        raise response.error if response.is_a?(HTTPX::ErrorResponse)

        response.to_s && response.status
      end
    end
  end

  def stop = @sessions.each(&:close)
end

HTTPXClient.run(["httpx", HTTPX::VERSION])
