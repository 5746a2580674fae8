# frozen_string_literal: true

require_relative "../calls_and_runs"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # POSTs of JSON one after another, reported in the columns of `time`: user, system, total, real.
      class Clients < Command
        include CallsAndRuns

        summary "100 POSTs of JSON by every client: user, system, total and real seconds"
        usage "[CALLS] [RUNS]"

        private

        def defaults
          @kinds = %w[json]
          @calls = 100
          @runs = 5
        end

        def title = "#{@calls} calls, one after the other"

        def call = { path: @target.path }

        def measure
          Target.open("short") do |target|
            @target = target
            with_competitors(base: target.base, checks: checks(call), limits: @limits) do |competitors|
              take(competitors)
            end
          end
        end

        def take(competitors)
          rounds = rounds(@runs)
          @screen.progress("clients", @runs * kinds.size) do |advance|
            rounds.each do
              kinds.shuffle.each do |kind|
                competitors.each(competitors.members.shuffle) do |member|
                  rounds.take([member.label, kind]) { member.ask(:calls, **task_arguments(kind, call), count: @calls) }
                end
                advance.call
              end
            end
          end
        end

        def conclude
          return if samples.empty?

          kinds.each { |kind| show(TITLES.fetch(kind), samples.select { |(_, of), _| of == kind }) }
        end

        def show(what, kind_samples)
          return if kind_samples.empty?

          rows = kind_samples.map { |(label, _), taken| row(label, what, taken) }.sort_by { |row| row.last.to_f }
          @result.table(what, %w[client user system total real], rows,
                        note: "Seconds for #{@calls} calls over loopback; real is the median of " \
                              "#{counted(runs, "run")}, the CPU times are means.")
          bars = rows.map { |row| { label: row.first, value: row.last.to_f * 1000, ours: row.first == "Trunkline" } }
          @result.chart(:bars, "#{@calls} #{what}", unit: "ms", bars: bars)
          first, second = rows.reject { |row| Limits.row?(row.first) }
          return unless second

          @result.say("#{what}: #{first.first} is quickest, #{first.last} s; next is #{second.first}, " \
                      "#{second.last} s.")
        end

        def row(label, what, taken)
          real = @result.figure(taken.map { |sample| sample[:wall] }, name: "#{label}: #{@calls} #{what}, real",
                                                                      group: what, label: label, unit: "s",
                                                                      better: "lower", key: label == "Trunkline")
          cpu = %i[user sys].map { |name| Statistics.mean(taken.map { |sample| sample[name] }) }
          [label, *[*cpu, cpu.sum, real.value].map { |seconds| format("%.4f", seconds) }]
        end
      end
    end
  end
end
