# frozen_string_literal: true

require_relative "../calls_and_runs"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # Calls over TLS to one host: with the client kept, and with a new one for each call.
      class Keepalive < Command
        include CallsAndRuns

        summary "calls over TLS with connections kept, and with a new one for each call, by every client"
        usage "[CALLS] [RUNS]"

        KINDS = %i[kept fresh].freeze
        COLUMNS = %w[opened user system total real].freeze

        private

        def defaults
          @calls = 15
          @runs = 7
        end

        def title = "#{@calls} HTTPS calls to one host, one after the other"

        def measure
          Target.open("short", port: :tls) do |target|
            @target = target
            check = { call: { path: target.path }, digest: SHORT_DIGEST }
            with_competitors(base: target.base, ca_file: target.ca_file, check: check, limits: @limits) do |competitors|
              take(competitors)
            end
          end
        end

        def take(competitors)
          rounds = rounds(@runs)
          @screen.progress("keepalive", @runs * 2) do |advance|
            rounds.each do
              KINDS.shuffle.each do |kind|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, kind]) { sample(member, kind == :kept) }
                end
                advance.call
              end
            end
          end
        end

        def sample(member, keep)
          taken = nil
          opened = @target.connections do
            taken = member.ask(:calls, call: { path: @target.path }, count: @calls, keep: keep)
          end
          taken.merge(opened: opened)
        end

        def conclude
          whole = samples.keys.map(&:first).uniq.to_h do |label|
            [label, KINDS.to_h { |kind| [kind, samples[[label, kind]]] }]
          end
          whole = whole.select { |_, kinds| kinds.each_value.all? }
          return if whole.empty?

          rows = whole.map { |label, kinds| row(label, kinds) }.sort_by { |row| row[COLUMNS.size].to_f }
          heads = %w[kept new].flat_map { |kind| COLUMNS.map { |name| "#{kind}: #{name}" } }
          @result.table(nil, ["client", *heads, "times faster"], rows,
                        note: "Milliseconds over loopback, medians of #{runs} runs (the CPU's as means); opened: " \
                              "connections that the server saw.", optional: optional)
          draw(rows)
          say(rows)
        end

        def optional
          ["new: opened", "kept: opened", "new: total", "kept: total", "new: user", "new: system", "kept: user",
           "kept: system"]
        end

        def row(label, kinds)
          cells = kinds.flat_map { |kind, taken| cells(label, kind, taken) }
          ratios = kinds[:kept].zip(kinds[:fresh]).filter_map do |kept, fresh|
            fresh[:wall] / kept[:wall] if kept && fresh
          end
          ratio = @result.figure(ratios, name: "#{label}: times faster with connections kept", group: "times faster",
                                         label: label, unit: "x")
          [label, *cells, format("%.1fx", ratio.value)]
        end

        def cells(label, kind, taken)
          real = @result.figure(taken.map { |sample| sample[:wall] * 1000 }, name: "#{label}, #{kind}: real",
                                                                             group: "real, #{kind}", label: label,
                                                                             unit: "ms", better: "lower",
                                                                             key: label == "Trunkline")
          cpu = %i[user sys].map { |name| Statistics.mean(taken.map { |sample| sample[name] * 1000 }) }
          opened = taken.filter_map { |sample| sample[:opened] }
          [(Statistics.median(opened).round if opened.any?), *[*cpu, cpu.sum, real.value].map do |ms|
            format("%.2f", ms)
          end]
        end

        def draw(rows)
          { "kept" => COLUMNS.size, "new" => COLUMNS.size * 2 }.each do |kind, column|
            bars = rows.map { |row| { label: row.first, value: row[column].to_f, ours: row.first == "Trunkline" } }
            bars = bars.sort_by { |bar| bar[:value] }
            @result.chart(:bars, "#{@calls} calls, connections #{kind}", unit: "ms", bars: bars)
          end
        end

        def say(rows)
          clients = rows.reject { |row| Limits.row?(row.first) }
          quickest = clients.min_by { |row| row[COLUMNS.size].to_f } or return
          @result.say("Kept connections are quickest with #{quickest.first}: #{quickest[COLUMNS.size]} ms for " \
                      "#{@calls} calls; with a new one for each call it takes #{quickest[COLUMNS.size * 2]} ms.")
        end
      end
    end
  end
end
