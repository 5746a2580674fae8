# frozen_string_literal: true

require "async"
require "trunkline"
require_relative "client"

# Trunkline in threads, fibers, batches and futures, each over plain HTTP/1.1, TLS and HTTP/2.
class TrunklineClient < SoakClient
  BODY = "b" * 1000

  private

  def start
    options = { timeout: 5, ca_file: @ca_file }
    @clients = @bases.map { |name, base| Trunkline.new(base, **options, **(name == :h2 ? { http: :h2 } : {})) }
    work(3) { |counts, number| single(counts, number, @clients[number % 3]) }
    work { |counts, number| fibers(counts, number) }
    work { |counts, number| batch(counts, number) }
    work { |counts, number| futures(counts, number) }
  end

  def stop = @clients.each(&:close)

  def single(counts, number, http) = one(counts, number) { |verb, path| call(http, verb, path).status }
  def call(http, verb, path) = verb == :post ? http.post(path, body: BODY) : http.get(path)

  def fibers(counts, number)
    Sync do |reactor|
      Array.new(6) { |each| reactor.async { 50.times { single(counts, number, @clients[each % 3]) } } }.each(&:wait)
    end
  end

  def batch(counts, number)
    http = @clients[(counts.requests / 60) % 3]
    http.batch(concurrency: 10) { |batch| 60.times { add(batch, counts, number) } }
  end

  # Does the same as #one for a request whose result arrives later.
  def add(batch, counts, number)
    count = counts.requests += 1
    id = "TrunklineClient-#{number}-#{count}" if (count % NAMED).zero?
    settle = ->(result) { made(counts, id) { result.is_a?(Exception) ? raise(result) : result.status } }
    id ? batch.post("/echo?id=#{id}", body: BODY, &settle) : batch.get("/small", &settle)
  end

  def futures(counts, number)
    waiting = Array.new(12) { |each| [nil, @clients[each % 3].async.get("/small")] }
    waiting.each { |id, future| (counts.requests += 1) && made(counts, id) { future.value!.status } }
    one(counts, number) { |verb, path| call(@clients.first, verb, path).status }
  end
end

TrunklineClient.run(["trunkline", Trunkline::VERSION], ["async", Async::VERSION])
