# frozen_string_literal: true

require_relative "../histogram"
require_relative "../limits"
require_relative "../repeats"
require_relative "../xml_renderers"
require_relative "../xml_requests"

module Trunkline
  module Lab
    module Commands
      # A small and a long XML document with each builder: the rendering only, and whole requests to a Rails
      # application.
      class XML < Command
        include Repeats

        summary "a small and a long XML document by Builder, Nokogiri, Ox and Trunkline::XML, in microseconds"
        usage "[RUNS]"

        SECONDS = 0.2
        RENDERING = 0.3 # share of the available time; whole requests take the rest
        PERCENTAGES = [50, 90, 95, 99, 100].freeze
        OURS = "Trunkline::XML"
        LIMIT = "#{Limits::PREFIX}#{Limits::NullBuilder.label}".freeze

        def self.name = "xml"

        # @return [Hash] name => gems, for every builder
        def self.bundles = XMLRenderers::GEMS.to_h { |name, (_, gems)| ["xml_#{name}", gems] }

        private

        def defaults
          @runs = 7
          @requests = true
          @bytes = {}
          @digests = {}
        end

        def options(parser)
          parser.on("--[no-]requests", "whole requests to a Rails application under Puma (yes)") do |yes|
            @requests = yes
          end
          parser.on("--ab", "ApacheBench's whole report of each; --json and --html have them anyway") { @ab = true }
          limit_choice(parser, Limits::NullBuilder)
          time_option(parser)
          install_option(parser)
        end

        def arguments(rest)
          raise Stop.new("give RUNS, a number", USAGE) unless rest.size <= 1 && rest.all?(/\A[1-9]\d*\z/)

          @runs = rest.first.to_i if rest.any?
        end

        def title = "A small and a long XML document"

        def measure
          render
          return unless @requests

          @xml_requests = XMLRequests.new(@result, @screen)
          @xml_requests.measure(rounds(@runs))
        end

        def render
          @processes = {}
          XMLRenderers::GEMS.each { |name, (label, gems)| start(name, label, gems) }
          XMLRenderers::GEMS.each_value { |label, gems| verify(label, gems) if @processes.key?(label) }
          start_limit
          take(@processes.keys.product(XMLTasks::SIZES.keys))
        ensure
          @processes&.each_value(&:stop)
        end

        def take(turns)
          rounds = rounds(@runs, share: @requests ? RENDERING : 1.0)
          @screen.progress("xml", @runs * turns.size) do |advance|
            rounds.each do
              turns.shuffle.each do |label, size|
                rounds.take([label, size]) { @processes[label].ask(:render, size: size, seconds: SECONDS) }
                advance.call
              end
            end
          end
        end

        # All processes are started before the first task, so that they load in parallel.
        def start(name, label, gems)
          reason = XMLRenderers.missing(name)
          return @result.missing[label] = reason if reason

          @screen.busy("starting #{label}")
          @processes[label] = PeerProcess.new(XMLTasks, name, gems: gems, folder: "xml_#{name}",
                                                              local_gems: local_gems(name))
        rescue Bundle::Failed => error
          @result.missing[label] = error.message
        end

        def local_gems(name) = name == "trunkline" ? ["trunkline-xml"] : []

        def verify(label, gems)
          process = @processes.fetch(label)
          check(label, process)
          versions = process.ask(:versions, names: gems.keys)
          versions = { "trunkline-xml" => Bundle.local_spec("trunkline-xml").version } if versions.empty?
          @result.clients[label] = versions.to_a.flatten.join(" ")
        rescue PeerProcess::Failed => error
          @processes.delete(label).stop
          @result.missing[label] = error.message
        end

        def start_limit
          return if @limits.empty?

          library = Limits::NullBuilder.library
          @processes[LIMIT] = PeerProcess.new(XMLTasks, "nothing", gems: {}, folder: "xml_nothing", library: library)
        rescue Limits::Failed => error
          @result.missing[LIMIT] = error.message
        end

        # All builders must write the same document, apart from white space and the declaration.
        def check(label, process)
          XMLTasks::SIZES.each_key do |size|
            seen = process.ask(:document, size: size)
            @bytes[[label, size]] = seen[:bytes]
            next if (@digests[size] ||= seen[:digest]) == seen[:digest]

            raise PeerProcess::Failed, "its #{size} document is not the others'"
          end
        end

        def conclude
          XMLTasks::SIZES.each_key do |size|
            size_samples = samples.select { |(_, of), _| of == size }.transform_keys(&:first)
            show(size, size_samples) if size_samples.any?
          end
          @xml_requests&.conclude(reports: @ab)
        end

        def show(size, size_samples)
          figures = size_samples.to_h { |label, taken| [label, mean(label, size, taken)] }
          slowest = figures["Builder"]&.value
          sorted = figures.sort_by { |_, figure| figure.value }
          rows = sorted.map { |label, figure| row(label, size, figure, size_samples[label], slowest) }
          shares = PERCENTAGES.map { |share| "#{share} %" }
          @result.table("#{size} document", ["builder", "bytes", "CPU us", *shares, XMLRenderers::AGAINST], rows,
                        optional: [*shares, "bytes"],
                        note: "Microseconds for one document: CPU, and the percentage rendered within a certain time.")
          draw(size, rows, slowest)
        end

        def row(label, size, figure, taken, slowest)
          latency = taken.map { |sample| Histogram.of(sample[:latency]) }.reduce(:merge)
          [label, @bytes[[label, size]], format("%.1f", figure.value),
           *PERCENTAGES.map { |share| latency.percentile(share) }, slowest && format("%.1fx", slowest / figure.value)]
        end

        def draw(size, rows, slowest)
          bars = rows.map { |row| { label: row[0], value: row[2].to_f, ours: row[0] == OURS } }
          @result.chart(:bars, "#{size} document", unit: "us of CPU", bars: bars)
          return unless slowest

          first = rows.find { |row| row[0] != LIMIT }
          @result.say("#{size} document: #{first[0]} is quickest, #{first.last} as fast as Builder.")
        end

        def mean(label, size, taken)
          times = taken.map { |sample| sample[:cpu] / sample[:requests] * 1e6 }
          @result.figure(times, name: "#{label}, #{size} document", group: "#{size} document", label: label, unit: "us",
                                better: "lower", key: label == OURS)
        end
      end
    end
  end
end
