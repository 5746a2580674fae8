# frozen_string_literal: true

require "net/http"
require "rbconfig"

# Whole requests to a Rails application under Puma, one at a time as `ab -c 1 -k -n 200` makes them, for each renderer.
module Requests
  SERVER = File.expand_path("../requests/server.rb", __dir__)
  RENDERERS = %w[builder nokogiri trunkline].freeze
  REQUESTS = Integer(ENV.fetch("BENCH_REQUESTS", "200"))
  WARM_UP = 30
  PERCENTILES = [50, 66, 75, 80, 90, 95, 98, 99, 100].freeze

  module_function

  def run(report)
    servers = RENDERERS.to_h { |renderer| [renderer, IO.popen([RbConfig.ruby, SERVER, renderer], "r+")] }
    clients = servers.transform_values { |server| Net::HTTP.start("127.0.0.1", Integer(server.gets)) }
    %w[small large].each { |size| measure(report, clients, size) }
  ensure
    clients&.each_value(&:finish)
    servers&.each_value(&:close)
  end

  def measure(report, clients, size)
    bodies = clients.transform_values { |client| fetch(client, size) }
    check(bodies, size)
    times = clients.transform_values { [] }
    WARM_UP.times { clients.each_value { |client| fetch(client, size) } }
    REQUESTS.times { clients.each { |name, client| times[name] << timed { fetch(client, size) } } }
    report.table("Requests: Rails under Puma, #{size} document, #{bodies["trunkline"].bytesize} bytes", rows(times))
    compare(report, size, times.transform_values { |list| Measure::Result.new(means_of_parts(list)) })
  end

  # As many as there are rounds elsewhere: the mean of each part of the requests.
  def means_of_parts(list)
    list.each_slice((list.size / Measure::ROUNDS.to_f).ceil).map { |part| part.sum / part.size }
  end

  def compare(report, size, results)
    { "Builder" => "builder", "Nokogiri" => "nokogiri" }.each do |name, renderer|
      report.figure("request with the #{size} document: mean against #{name}",
                    results[renderer].ratio_to(results["trunkline"]), "x")
    end
  end

  def fetch(client, size)
    response = client.get("/#{size}")
    abort "the application answered #{response.code}" unless response.code == "200"
    response.body
  end

  def check(bodies, size)
    abort "ours is not Builder's answer: #{size}" unless bodies["trunkline"] == bodies["builder"]
    nokogiri, builder = bodies.values_at("nokogiri", "builder").map { |body| body.gsub(/>\s+</, "><").delete("\n") }
    abort "Nokogiri's answer is another document: #{size}" unless nokogiri == builder
  end

  def timed
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    (Process.clock_gettime(Process::CLOCK_MONOTONIC) - before) * 1000
  end

  def rows(times)
    header = ["| renderer | requests/s | mean ms | #{PERCENTILES.map { |percent| "#{percent} %" }.join(" | ")} |",
              "|---|---|---|#{"---|" * PERCENTILES.size}"]
    header + times.map do |name, list|
      sorted = list.sort
      mean = list.sum / list.size
      marks = PERCENTILES.map { |percent| format("%.2f", sorted[[(sorted.size * percent / 100.0).ceil, 1].max - 1]) }
      "| #{name} | #{format("%.0f", 1000 / mean)} | #{format("%.3f", mean)} | #{marks.join(" | ")} |"
    end
  end
end
