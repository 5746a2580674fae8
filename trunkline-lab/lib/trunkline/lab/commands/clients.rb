# frozen_string_literal: true

require_relative "../calls_and_runs"
require_relative "../target"

module Trunkline
  module Lab
    module Commands
      # POSTs one after the other, as `time` tells them: user, system, total, real.
      class Clients < Command
        include CallsAndRuns

        summary "100 POSTs by every client: user, system, total and real seconds"
        usage "[CALLS] [RUNS]"

        BODY = '{"name":"trunkline"}'
        HEADERS = { "Content-Type" => "application/json" }.freeze

        private

        def defaults
          @calls = 100
          @runs = 5
        end

        def title = "#{@calls} POSTs, one after the other"

        def measure
          Target.open("short") do |target|
            call = { verb: "POST", path: target.path, headers: HEADERS, body: BODY }
            check = { call: call, digest: SHORT_DIGEST }
            with_competitors(base: target.base, check: check, limits: @limits) { |competitors| take(competitors, call) }
          end
        end

        def take(competitors, call)
          rounds = rounds(@runs)
          @screen.progress("clients", @runs * competitors.members.size) do |advance|
            rounds.each do
              competitors.each(competitors.members.shuffle) do |member|
                rounds.take(member.label) { member.ask(:calls, call: call, count: @calls) }
                advance.call
              end
            end
          end
        end

        def conclude
          return if samples.empty?

          rows = samples.map { |label, taken| row(label, taken) }.sort_by { |row| row.last.to_f }
          @result.table(nil, %w[client user system total real], rows,
                        note: "Seconds for #{@calls} POSTs over loopback; real is the median of #{runs} runs, " \
                              "the CPU's are means.")
          bars = rows.map { |row| { label: row.first, value: row.last.to_f * 1000, ours: row.first == "Trunkline" } }
          @result.chart(:bars, "#{@calls} POSTs", unit: "ms", bars: bars)
          first, second = rows.reject { |row| Limits.row?(row.first) }
          return unless second

          @result.say("#{first.first} is quickest: #{first.last} s; next is #{second.first}: #{second.last} s.")
        end

        def row(label, taken)
          real = @result.figure(taken.map { |sample| sample[:wall] }, name: "#{label}: #{@calls} POSTs, real",
                                                                      group: "real", label: label, unit: "s",
                                                                      better: "lower", key: label == "Trunkline")
          cpu = %i[user sys].map { |name| Statistics.mean(taken.map { |sample| sample[name] }) }
          [label, *[*cpu, cpu.sum, real.value].map { |seconds| format("%.4f", seconds) }]
        end
      end
    end
  end
end
