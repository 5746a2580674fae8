# frozen_string_literal: true

require "net/http/persistent"
require_relative "client"

# net-http-persistent in threads, over plain HTTP/1.1 and TLS.
class NetHTTPPersistentClient < SoakClient
  private

  def start
    @http = Net::HTTP::Persistent.new(name: "soak")
    @http.ca_file = @ca_file
    @http.open_timeout = @http.read_timeout = 5
    bases = @bases.values_at(:plain, :tls)
    work(6) do |counts, number|
      one(counts, number) do |verb, path|
        uri = URI(bases[number % 2] + path)
        request = (verb == :post ? Net::HTTP::Post : Net::HTTP::Get).new(uri)
        request.body = "b" * 1000 if verb == :post
        @http.request(uri, request).code.to_i
      end
    end
  end

  def stop = @http.shutdown
end

NetHTTPPersistentClient.run(["net-http-persistent", Net::HTTP::Persistent::VERSION])
