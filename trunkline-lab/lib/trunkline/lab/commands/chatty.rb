# frozen_string_literal: true

require_relative "../histogram"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # A Rack application whose request makes 15 calls to a second service, under load: what one line changes.
      class Chatty < Command
        summary "a request that makes 15 HTTPS calls to a second service, under load, by four ways to make them"
        usage "[CALLS] [RUNS]"

        BASE = { "puma" => ">= 6.0", "rack" => ">= 2.2", "faraday" => "~> 2.0" }.freeze
        WAYS = {
          "Faraday, its default adapter" => ["net_http", {}],
          "Faraday, net_http_persistent" => ["net_http_persistent", { "faraday-net_http_persistent" => "~> 2.0" }],
          "Trunkline, as Faraday's adapter" => ["trunkline", {}],
          "Trunkline, side by side" => ["parallel", {}]
        }.freeze
        FILE = File.expand_path("../origins/chatty.rb", __dir__)
        IN_FLIGHT = 4
        REQUESTS = 24

        private

        def defaults
          @calls = 15
          @runs = 3
          @samples = Hash.new { |samples, label| samples[label] = [] }
        end

        def options(parser) = install_option(parser)

        def arguments(rest)
          raise Stop.new("give CALLS and RUNS, two numbers", USAGE) unless rest.size <= 2 && rest.all?(/\A[1-9]\d*\z/)

          numbers = rest.map(&:to_i)
          @calls = numbers[0] || @calls
          @runs = numbers[1] || @runs
        end

        def title
          "A request that makes #{@calls} HTTPS calls to a second service (10 ms each), #{IN_FLIGHT} in flight"
        end

        def measure
          Target.open("slow", tls: true) do |service|
            with_applications(WAYS.to_a, service, {}) do |applications|
              @screen.progress("chatty", @runs * applications.size) do |advance|
                @runs.times { applications.to_a.shuffle.each { |label, process| take(label, process, advance) } }
              end
            end
          end
        end

        # One Puma for each way, one inside the other, so that each is stopped whatever happens.
        def with_applications(ways, service, started, &block)
          return block.call(started) if ways.empty?

          (label, (kind, gems)), *others = ways
          @screen.busy("starting #{label}")
          Origins::Puma.open(app: "Trunkline::Lab::Origins::Chatty", file: FILE, threads: IN_FLIGHT,
                             environment: environment(kind, gems), kind: kind, base: service.base, path: service.path,
                             ca_file: service.ca_file, calls: @calls) do |application|
            load_by(application) do |process|
              with_applications(others, service, started.merge(label => process), &block)
            end
          end
        rescue Bundle::Failed => error
          @result.missing[label] = error.message
          with_applications(others, service, started, &block)
        end

        def load_by(application)
          PeerProcess.open(Peer.named("trunkline"), base: application.plain, timeout: 60) do |process|
            seen = process.ask(:probe, call: { path: "/" })
            if seen[:status] != 200
              raise PeerProcess::Failed,
                    "the application answered #{seen[:status]}: #{seen[:body]}"
            end

            yield process
          end
        end

        def environment(kind, gems)
          paths = Bundle.own_paths("trunkline").join(":")
          Bundle.new("chatty_#{kind}", BASE.merge(gems)).environment.merge("RUBYLIB" => paths)
        end

        def take(label, process, advance)
          sample = process.ask(:many, call: { path: "/" }, concurrency: IN_FLIGHT, requests: REQUESTS)
          wrong = sample[:requests] - sample[:statuses].fetch(:"200", 0)
          raise PeerProcess::Failed, "#{label}: #{wrong} of #{REQUESTS} requests failed" if wrong.positive?

          @samples[label] << sample
          advance.call
        end

        def conclude
          return if @samples.empty?

          means = WAYS.keys.select { |label| @samples.key?(label) }.to_h { |label| [label, mean(label)] }
          slowest = means.values.first.value
          rows = means.map { |label, figure| row(label, figure, slowest) }
          @result.table(nil, ["way", "mean ms", "95 % interval", "p50 ms", "p99 ms", "times faster"], rows,
                        note: "Time of one whole request of the application; #{REQUESTS} requests, #{@runs} runs.")
          draw(rows)
        end

        def draw(rows)
          bars = rows.map { |row| { label: row.first, value: row[1].to_f, ours: row.first.start_with?("Trunkline") } }
          @result.chart(:bars, "one request with #{@calls} calls in it", unit: "ms", bars: bars)
          first, last = rows.values_at(0, -1)
          @result.say("#{first.first}: #{first[1]} ms; #{last.first}: #{last[1]} ms (#{last.last}).") if rows.size > 1
        end

        def mean(label)
          times = @samples[label].map { |sample| Histogram.of(sample[:latency]).mean / 1000 }
          @result.figure(times, name: "#{label}: mean time of a request", group: "mean", label: label, unit: "ms",
                                better: "lower", key: true)
        end

        def row(label, figure, slowest)
          latency = @samples[label].map { |sample| Histogram.of(sample[:latency]) }.reduce(:merge)
          [label, format("%.1f", figure.value), figure.interval.map { |edge| format("%.1f", edge) }.join(" to "),
           *[50, 99].map { |share| format("%.1f", latency.percentile(share) / 1000.0) },
           format("%.1fx", slowest / figure.value)]
        end
      end
    end
  end
end
