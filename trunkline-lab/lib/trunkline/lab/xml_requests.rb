# frozen_string_literal: true

require_relative "applications"
require_relative "histogram"
require_relative "output/ab_report"
require_relative "target"
require_relative "xml_renderers"

module Trunkline
  module Lab
    # Whole requests to a small Rails application under Puma, one at a time as with `ab -c 1 -k`, for each XML builder:
    # how much of the gain remains in a complete request.
    class XMLRequests
      FILE = File.expand_path("origins/xml_pages.rb", __dir__)
      # Rails needs nokogiri with every builder; older versions of RubyGems can install only some versions of it.
      GEMS = { "railties" => ">= 7.1", **XMLRenderers::GEMS.fetch("nokogiri").last }.freeze
      REQUESTS = 30 # per run
      WARM_UP = 5
      OPTIONAL = ["100 %", "99 %", "95 %", "90 %", "bytes", "66 %", "75 %", "80 %", "98 %"].freeze
      PERCENTAGES = Output::AbReport::PERCENTAGES - [99.9]

      # @return [Hash] name => gems, for every application
      def self.bundles
        XMLRenderers::GEMS.to_h { |name, (_, gems)| [folder(name), Applications::GEMS.merge(needed(name, gems))] }
      end

      # Rails depends on Builder and Nokogiri.
      def self.needed(name, gems) = name == "ox" ? GEMS.merge(gems) : GEMS
      def self.folder(name) = name == "ox" ? "rails_ox" : "rails"

      # @param result [Result] receives tables and figures
      def initialize(result, screen)
        @result = result
        @screen = screen
        @responses = {}
        @targets = {}
      end

      # @param rounds [Rounds]
      def measure(rounds)
        @rounds = rounds
        Applications.open(missing: @result.missing, screen: @screen) do |applications|
          XMLRenderers::GEMS.each_key { |renderer| start(applications, renderer) }
          applications.ready do |label, application|
            XMLTasks::SIZES.each_key { |size| check(label, application, size) }
          end
          take(applications.members.to_a.product(XMLTasks::SIZES.keys))
        end
      end

      # @param reports [Boolean] whether to print ApacheBench's complete report of each run
      def conclude(reports: false)
        XMLTasks::SIZES.each_key do |size|
          size_samples = @rounds.samples.select { |(_, of), _| of == size }.transform_keys(&:first)
          next if size_samples.empty?

          show("#{size} document, whole requests to Rails under Puma, distinct URLs", size, size_samples)
          size_samples.each { |name, taken| report(name, size, taken, reports) }
        end
      end

      private

      def take(turns)
        @screen.progress("xml, whole requests", @rounds.wanted * turns.size) do |advance|
          @rounds.each do
            turns.shuffle.each do |(label, application), size|
              @rounds.take([label, size]) { requests(application, size, REQUESTS) }
              advance.call
            end
          end
        end
      end

      def start(applications, renderer)
        label, gems = XMLRenderers::GEMS.fetch(renderer)
        name = "#{label}, in Rails"
        reason = XMLRenderers.missing(renderer)
        return @result.missing[name] = reason if reason

        applications.add(name, gems: self.class.needed(renderer, gems), folder: self.class.folder(renderer),
                               local_gems: renderer == "trunkline" ? ["trunkline-xml"] : [], file: FILE, threads: 1,
                               app: "Trunkline::Lab::Origins::XMLPages", renderer: renderer)
      end

      # All builders must return the same document, apart from white space and the declaration.
      def check(name, application, size)
        target = Target.parse("#{application.origin.plain}/#{size}")
        response = target.probe({ verb: "GET", headers: {} }, timeout: Applications::SECONDS_TO_ANSWER)
        @digests ||= {}
        digest = XMLTasks.digest(response.body)
        raise Stop, "its #{size} document is not the others'" unless (@digests[size] ||= digest) == digest

        requests(application, size, WARM_UP)
        @targets[[name, size]] = target
        @responses[[name, size]] = response
      end

      def requests(application, size, count)
        application.ask(:many, call: { path: "/#{size}" }, kind: "distinct", concurrency: 1, requests: count,
                               timings: true)
      end

      def show(title, size, size_samples)
        figures = size_samples.to_h { |name, taken| [name, mean(name, title, taken)] }
        figures = figures.sort_by { |_, figure| figure.value }
        slowest = figures.to_h["Builder, in Rails"]&.value
        rows = figures.map { |name, figure| row(name, size, figure, size_samples[name], slowest) }
        columns = ["builder", "bytes", "requests/s", "mean us", *PERCENTAGES.map { |share| "#{share} %" },
                   XMLRenderers::AGAINST]
        @result.table(title, columns, rows, optional: OPTIONAL,
                                            note: "Microseconds of whole requests, one at a time, on one connection.")
        draw(title, rows)
      end

      def row(name, size, figure, taken, slowest)
        latency = taken.map { |sample| Histogram.of(sample[:latency]) }.reduce(:merge)
        [label(name), @responses[[name, size]].body.bytesize, format("%.0f", 1e6 / figure.value), figure.value.round,
         *PERCENTAGES.map { |share| latency.percentile(share) },
         slowest && format("%.1fx", slowest / figure.value)]
      end

      def draw(title, rows)
        bars = rows.map { |row| { label: row[0], value: row[3], ours: row[0].start_with?("Trunkline") } }
        @result.chart(:bars, title, unit: "us", bars: bars)
        @result.say("#{title}: #{rows.first[0]} is quickest, #{rows.first.last} as fast as Builder.") if rows[0].last
      end

      def label(name) = name.delete_suffix(", in Rails")

      def mean(name, title, taken)
        times = taken.map { |sample| sample[:wall] / sample[:requests] * 1e6 }
        @result.figure(times, name: "#{label(name)}: #{title}", group: title, label: label(name), unit: "us",
                              better: "lower", key: name.start_with?("Trunkline"))
      end

      # ApacheBench's report of the median run.
      def report(name, size, taken, printed)
        middle = taken.sort_by { |sample| sample[:wall] }[taken.size / 2]
        text = Output::AbReport.new(target: @targets[[name, size]], response: @responses[[name, size]], sample: middle,
                                    concurrency: 1, rate: nil).to_s
        (@result.data[:reports] ||= {})["#{label(name)}, #{size}"] = text
        @result.say("\n#{label(name)}, #{size} document\n\n#{text}") if printed
      end
    end
  end
end
