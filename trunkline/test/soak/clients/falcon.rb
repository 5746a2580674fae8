# frozen_string_literal: true

require "async/http/endpoint"
require "falcon"
require "trunkline"
require_relative "client"
require_relative "../../support/free_port"

# Trunkline within Falcon: each request to the server makes calls over plain HTTP/1.1, TLS and HTTP/2 in its fiber.
# Threads of the same process send these requests.
class FalconClient < SoakClient
  CALLS = 10   # per request
  ASKING = 6   # threads
  BODY = "b" * 1000
  STARTED_WITHIN = 10

  private

  def start
    options = { timeout: 5, ca_file: @ca_file }
    @clients = @bases.map { |name, base| Trunkline.new(base, **options, **(name == :h2 ? { http: :h2 } : {})) }
    port = FreePort.take
    @server = Thread.new { serve("http://127.0.0.1:#{port}") }
    limit = now + STARTED_WITHIN
    sleep 0.02 until FreePort.open?(port) || now > limit
    @asking = Trunkline.new("http://127.0.0.1:#{port}", timeout: 30)
    @counts = {}
    work(ASKING) do |counts, number|
      @counts[number] = counts
      @asking.get("/#{number}").body == "done" or raise "Falcon did not answer"
    end
  end

  def serve(url)
    Sync do
      app = Falcon::Server.middleware(method(:answer), cache: false)
      Falcon::Server.new(app, Async::HTTP::Endpoint.parse(url)).run.wait
    end
  end

  def answer(environment)
    number = environment.fetch("PATH_INFO").delete("/").to_i
    CALLS.times { |each| single(@counts.fetch(number), number, @clients[each % 3]) }
    [200, {}, ["done"]]
  end

  def single(counts, number, http)
    one(counts, number) do |verb, path|
      (verb == :post ? http.post(path, body: BODY) : http.get(path)).status
    end
  end

  def stop
    [@asking, *@clients].each(&:close)
    @server.kill.join
  end
end

FalconClient.run(["trunkline", Trunkline::VERSION], ["falcon", Falcon::VERSION])
