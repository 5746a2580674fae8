# frozen_string_literal: true

require_relative "../calls_and_runs"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # Calls over TLS to one host, with one client for all calls and with a new client for each call.
      class Keepalive < Command
        include CallsAndRuns

        summary "calls over TLS on kept connections, and on a new connection for each call, by every client"
        usage "[CALLS] [RUNS]"

        WAYS = %i[kept fresh].freeze
        COLUMNS = %w[opened user system total real].freeze

        private

        def defaults
          @calls = 15
          @runs = 7
        end

        def title = "#{@calls} HTTPS calls to one host, one after the other"

        def call = { path: @target.path }

        def measure
          Target.open("short", port: :tls) do |target|
            @target = target
            options = { base: target.base, ca_file: target.ca_file, limits: @limits }
            with_competitors(checks: checks(call), **options) { |competitors| take(competitors) }
          end
        end

        def take(competitors)
          rounds = rounds(@runs)
          turns = kinds.product(WAYS)
          @screen.progress("keepalive", @runs * turns.size) do |advance|
            rounds.each do
              turns.shuffle.each do |kind, way|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, kind, way]) { sample(member, kind, way == :kept) }
                end
                advance.call
              end
            end
          end
        end

        def sample(member, kind, keep)
          taken = nil
          opened = @target.connections do
            taken = member.ask(:calls, **task_arguments(kind, call), count: @calls, keep: keep)
          end
          taken.merge(opened: opened)
        end

        def conclude
          return if samples.empty?

          kinds.each { |kind| show(kind) }
        end

        def show(kind)
          clients = measured_both_ways(kind)
          return if clients.empty?

          rows = clients.map { |label, ways| row(label, kind, ways) }.sort_by { |row| row[COLUMNS.size].to_f }
          heads = %w[kept new].flat_map { |way| COLUMNS.map { |name| "#{way}: #{name}" } }
          @result.table(TITLES.fetch(kind), ["client", *heads, "times faster"], rows,
                        note: "Milliseconds over loopback, medians of #{counted(runs, "run")} (means for the CPU); " \
                              "opened: connections that the server saw.", optional: optional)
          draw(kind, rows)
          say(kind, rows)
        end

        # @return [Hash{String => Hash}] label => way => samples, for clients that were measured in both ways
        def measured_both_ways(kind)
          clients = samples.keys.map(&:first).uniq.to_h do |label|
            [label, WAYS.to_h { |way| [way, samples[[label, kind, way]]] }]
          end
          clients.select { |_, ways| ways.each_value.all? }
        end

        def optional
          ["new: opened", "kept: opened", "new: total", "kept: total", "new: user", "new: system", "kept: user",
           "kept: system"]
        end

        def row(label, kind, ways)
          cells = ways.flat_map { |way, taken| cells(label, "#{TITLES.fetch(kind)}, #{way}", taken) }
          ratios = ways[:kept].zip(ways[:fresh]).filter_map do |kept, fresh|
            fresh[:wall] / kept[:wall] if kept && fresh
          end
          ratio = @result.figure(ratios, name: "#{label}, #{TITLES.fetch(kind)}: times faster with connections kept",
                                         group: "times faster, #{TITLES.fetch(kind)}", label: label, unit: "x")
          [label, *cells, format("%.1fx", ratio.value)]
        end

        def cells(label, what, taken)
          real = @result.figure(taken.map { |sample| sample[:wall] * 1000 }, name: "#{label}, #{what}: real",
                                                                             group: "real, #{what}", label: label,
                                                                             unit: "ms", better: "lower",
                                                                             key: label == "Trunkline")
          cpu = %i[user sys].map { |name| Statistics.mean(taken.map { |sample| sample[name] * 1000 }) }
          opened = taken.filter_map { |sample| sample[:opened] }
          [(Statistics.median(opened).round if opened.any?), *[*cpu, cpu.sum, real.value].map do |ms|
            format("%.2f", ms)
          end]
        end

        def draw(kind, rows)
          { "kept" => COLUMNS.size, "new" => COLUMNS.size * 2 }.each do |way, column|
            bars = rows.map { |row| { label: row.first, value: row[column].to_f, ours: row.first == "Trunkline" } }
            bars = bars.sort_by { |bar| bar[:value] }
            @result.chart(:bars, "#{@calls} #{TITLES.fetch(kind)}, connections #{way}", unit: "ms", bars: bars)
          end
        end

        def say(kind, rows)
          clients = rows.reject { |row| Limits.row?(row.first) }
          quickest = clients.min_by { |row| row[COLUMNS.size].to_f } or return
          @result.say("Kept connections are quickest with #{quickest.first}: #{quickest[COLUMNS.size]} ms for " \
                      "#{@calls} #{TITLES.fetch(kind)}; with a new one for each call it takes " \
                      "#{quickest[COLUMNS.size * 2]} ms.")
        end
      end
    end
  end
end
