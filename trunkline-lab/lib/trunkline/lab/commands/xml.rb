# frozen_string_literal: true

require_relative "../histogram"
require_relative "../xml_renderers"

module Trunkline
  module Lab
    module Commands
      # A small and a long XML document by each builder.
      class XML < Command
        summary "a small and a long XML document by Builder, Nokogiri, Ox and Trunkline::XML, in microseconds"
        usage "[RUNS]"

        SECONDS = 0.2
        PERCENTAGES = [50, 90, 95, 99, 100].freeze
        OURS = "Trunkline::XML"

        def self.name = "xml"

        private

        def defaults
          @runs = 7
          @samples = Hash.new { |samples, key| samples[key] = [] }
          @bytes = {}
        end

        def options(parser) = install_option(parser)

        def arguments(rest)
          raise Stop.new("give RUNS, a number", USAGE) unless rest.size <= 1 && rest.all?(/\A[1-9]\d*\z/)

          @runs = rest.first.to_i if rest.any?
        end

        def title = "A small and a long XML document"

        def measure
          @processes = {}
          XMLRenderers::GEMS.each { |name, (label, gems)| start(name, label, gems) }
          turns = @processes.keys.product(XMLTasks::SIZES.keys)
          @screen.progress("xml", @runs * turns.size) do |advance|
            @runs.times do
              turns.shuffle.each do |label, size|
                @samples[[label, size]] << @processes[label].ask(:render, size: size, seconds: SECONDS)
                advance.call
              end
            end
          end
        ensure
          @processes&.each_value(&:stop)
        end

        def start(name, label, gems)
          ours = name == "trunkline" ? ["trunkline-xml"] : []
          if ours.any? && Bundle.own_paths(*ours).empty?
            return @result.missing[label] = "not installed (gem install trunkline-xml)"
          end

          @screen.busy("starting #{label}")
          process = PeerProcess.new("xml", name, gems: gems, folder: "xml_#{name}", ours: ours)
          @processes[label] = process
          check(label, process)
          versions = process.ask(:versions, names: gems.keys)
          @result.clients[label] =
            versions.any? ? versions.to_a.flatten.join(" ") : "trunkline-xml #{Bundle.own_spec(ours.first).version}"
        rescue PeerProcess::Failed, Bundle::Failed => error
          @processes.delete(label)&.stop
          @result.missing[label] = error.message
        end

        # All must write the same document, but for white space and the declaration.
        def check(label, process)
          XMLTasks::SIZES.each_key do |size|
            seen = process.ask(:document, size: size)
            @bytes[[label, size]] = seen[:bytes]
            @digests ||= {}
            next if (@digests[size] ||= seen[:digest]) == seen[:digest]

            raise PeerProcess::Failed, "its #{size} document is not the others'"
          end
        end

        def conclude
          XMLTasks::SIZES.each_key do |size|
            own = @samples.select { |(_, of), _| of == size }.transform_keys(&:first)
            show(size, own) if own.any?
          end
        end

        def show(size, own)
          figures = own.to_h { |label, taken| [label, mean(label, size, taken)] }
          slowest = figures["Builder"]&.value
          sorted = figures.sort_by { |_, figure| figure.value }
          rows = sorted.map { |label, figure| row(label, size, figure, own[label], slowest) }
          columns = ["builder", "bytes", "CPU us", *PERCENTAGES.map do |share|
            "#{share} %"
          end, "times faster than Builder"]
          @result.table("#{size} document", columns, rows,
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

          @result.say("#{size} document: #{rows.first[0]} is quickest, #{rows.first.last} as fast as Builder.")
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
