# frozen_string_literal: true

require_relative "../applications"
require_relative "../calls_and_runs"
require_relative "../histogram"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # A Rack application whose requests each make 15 calls to a second service, under load: the effect of changing one
      # line.
      class Chatty < Command
        include CallsAndRuns

        summary "a Rack application that makes 15 HTTPS calls in each request, under load, in four ways"
        usage "[CALLS] [RUNS]"

        GEMS = { "faraday" => "~> 2.0" }.freeze
        WAYS = {
          "Faraday, its default adapter" => ["net_http", {}],
          "Faraday, net_http_persistent" => ["net_http_persistent", { "faraday-net_http_persistent" => "~> 2.0" }],
          "Trunkline, as Faraday's adapter" => ["trunkline", {}],
          "Trunkline, side by side" => ["parallel", {}]
        }.freeze
        FILE = File.expand_path("../origins/chatty.rb", __dir__)
        IN_FLIGHT = 4
        REQUESTS = 16

        # @return [Hash] name => gems, for every way
        def self.bundles
          WAYS.each_value.to_h { |way, gems| [folder(way, gems), Applications::GEMS.merge(GEMS, gems)] }
        end

        # Ways without additional gems share a folder of gems.
        def self.folder(way, gems) = gems.empty? ? "chatty" : "chatty_#{way}"

        private

        def defaults
          @kinds = DEFAULT
          @calls = 15
          @runs = 3
        end

        def options(parser)
          kinds_option(parser)
          install_option(parser)
          time_option(parser)
        end

        def title
          "A request that makes #{@calls} HTTPS calls to a second service (10 ms each), #{IN_FLIGHT} in flight"
        end

        def measure
          Target.open("slow", port: :tls) do |service|
            Applications.open(missing: @result.missing, screen: @screen) do |applications|
              WAYS.each { |label, (way, gems)| start(applications, label, way, gems, service) }
              applications.ready { |_, application| check(application) }
              take(applications.members.to_a)
            end
          end
        end

        def start(applications, label, way, gems, service)
          options = { way: way, base: service.base, path: service.path, json_path: service.json_path,
                      ca_file: service.ca_file, calls: @calls }
          applications.add(label, gems: GEMS.merge(gems), folder: self.class.folder(way, gems),
                                  local_gems: ["trunkline"], file: FILE, threads: IN_FLIGHT,
                                  app: "Trunkline::Lab::Origins::Chatty", **options)
        end

        def check(application)
          kinds.each do |kind|
            seen = application.ask(:probe, call: { path: "/#{kind}" })
            raise Stop, "the application's status is #{seen[:status]}: #{seen[:body]}" unless seen[:status] == 200
          end
        end

        def take(members)
          rounds = rounds(@runs)
          turns = members.product(kinds)
          @screen.progress("chatty", @runs * turns.size) do |advance|
            rounds.each do
              turns.shuffle.each do |(label, application), kind|
                rounds.take([label, kind]) { sample(label, application, kind) }
                advance.call
              end
            end
          end
        end

        def sample(label, application, kind)
          sample = application.ask(:many, call: { path: "/#{kind}" }, concurrency: IN_FLIGHT, requests: REQUESTS)
          wrong = sample[:requests] - sample[:statuses].fetch(:"200", 0)
          raise PeerProcess::Failed, "#{label}: #{wrong} of #{REQUESTS} requests failed" if wrong.positive?

          sample
        end

        def conclude
          return if samples.empty?

          kinds.each { |kind| show(kind) }
        end

        def show(kind)
          means = WAYS.keys.select { |label| samples.key?([label, kind]) }.to_h { |label| [label, mean(label, kind)] }
          return if means.empty?

          slowest = means.values.first.value
          rows = means.map { |label, figure| row(label, kind, figure, slowest) }
          columns = ["way", "mean ms", "95 % interval", "p50 ms", "p99 ms", "times faster"]
          @result.table(TITLES.fetch(kind), columns, rows,
                        optional: ["p50 ms", "95 % interval"],
                        note: "Time of one whole request of the application; #{REQUESTS} requests, " \
                              "#{counted(runs, "run")}.")
          draw(kind, rows)
        end

        def draw(kind, rows)
          bars = rows.map { |row| { label: row.first, value: row[1].to_f, ours: row.first.start_with?("Trunkline") } }
          @result.chart(:bars, "one request with #{@calls} #{TITLES.fetch(kind)} in it", unit: "ms", bars: bars)
          first, last = rows.values_at(0, -1)
          return unless rows.size > 1

          @result.say("#{TITLES.fetch(kind)}: #{first.first} takes #{first[1]} ms; #{last.first} takes #{last[1]} ms " \
                      "(#{last.last}).")
        end

        def mean(label, kind)
          times = samples[[label, kind]].map { |sample| Histogram.of(sample[:latency]).mean / 1000 }
          @result.figure(times, name: "#{label}, #{TITLES.fetch(kind)}: mean time of a request",
                                group: TITLES.fetch(kind), label: label, unit: "ms", better: "lower", key: true)
        end

        def row(label, kind, figure, slowest)
          latency = samples[[label, kind]].map { |sample| Histogram.of(sample[:latency]) }.reduce(:merge)
          [label, format("%.1f", figure.value), figure.interval.map { |edge| format("%.1f", edge) }.join(" to "),
           *[50, 99].map { |share| format("%.1f", latency.percentile(share) / 1000.0) },
           format("%.1fx", slowest / figure.value)]
        end
      end
    end
  end
end
