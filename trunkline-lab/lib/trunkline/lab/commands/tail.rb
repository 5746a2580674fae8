# frozen_string_literal: true

require "digest"
require_relative "../histogram"
require_relative "../origins/counting"
require_relative "../retrying"
require_relative "../simulated"
require_relative "../simulation/tail"

module Trunkline
  module Lab
    module Commands
      # A server with occasional slow responses: the effect of hedging on the slowest calls, and its cost for the
      # server.
      class Tail < Command
        include Simulated

        summary "a server with a slow tail: p50, p95 and p99 of GETs with and without hedging, and the additional load"
        usage "[CALLS] [RUNS]"

        CLIENTS = %w[trunkline_alone trunkline_hedge faraday_retry_impatient httpx_retries_impatient].freeze
        SECONDS = 0.005    # for a response
        SLOW_SECONDS = 0.2
        SLOW_SHARE = 0.02
        IN_FLIGHT = 4
        WARM_UP = 100      # calls, after which the usual response time is known
        LIMIT = 120        # seconds that a client may take for its calls
        CALL = { call: { path: "/" }, kind: "distinct" }.freeze
        BODY = "done"
        SHARES = { "p50" => 50, "p95" => 95, "p99" => 99 }.freeze
        QUANTILES = %i[p50 p75 p90 p95 p98 p99].freeze
        SIMULATED = ["way", "p50", "p95", "p99", "p99.9", "more", "slow: p50", "slow: more"].freeze
        # Name => settings of hedge: in addition to after:.
        BUDGETS = { "hedging without a budget" => { max: 1.0 }, "Trunkline, the default budget" => {} }.freeze

        private

        def defaults
          @calls = 1000
          @runs = 5
        end

        # Hedging sends a second request, which is allowed for safe methods only: there are no POSTs.
        def title = "A server with a slow tail, and hedging: GETs of distinct URLs, as only safe methods are hedged"

        # A simulation has the same result on any machine, so noise does not matter.
        def timed? = super && !@simulation_only

        def measure
          simulate(Simulation::Tail::WAYS) { |way, seed| Simulation::Tail.run(way, seed) }
          @by_quantile = BUDGETS.transform_values { |settings| by_quantile(settings) }
          take unless @simulation_only
        end

        # @return [Hash{Symbol => Simulation::Tail::Result}]
        def by_quantile(settings)
          QUANTILES.to_h { |after| [after, Simulation::Tail.run({ after: after, **settings }, @seed)] }
        end

        def take
          Origins::Counting.open(method(:respond)) do |origin, base|
            @chance = Random.new(@seed)
            with_competitors(base: base, checks: [CALL.merge(digest: Digest::SHA256.hexdigest(BODY))]) do |competitors|
              competitors.each { |member| many(member, WARM_UP) }
              take_rounds(competitors, origin)
            end
          end
        end

        # Each client's turn starts with the same seed, so that its requests with the same numbers are slow.
        def take_rounds(competitors, origin)
          rounds = rounds(@runs)
          @screen.progress("tail", @runs) do |advance|
            rounds.each do |number|
              competitors.each(competitors.members.shuffle) do |member|
                @chance = Random.new(@seed + number)
                rounds.take(member.label) { sample(member, origin) }
              end
              advance.call
            end
          end
        end

        def respond(connection)
          sleep @chance.rand < SLOW_SHARE ? SLOW_SECONDS : SECONDS
          connection.answer(BODY)
        end

        def many(member, requests)
          member.ask(:many, **CALL, concurrency: IN_FLIGHT, requests: requests, limit: LIMIT)
        end

        def sample(member, origin)
          taken = nil
          arrivals = origin.count { taken = many(member, @calls) }
          { latency: Histogram.of(taken[:latency]), more: ((arrivals.sum / @calls.to_f) - 1) * 100,
            failed: @calls - taken[:statuses].fetch(:"200", 0) }
        end

        def conclude
          if @by_quantile
            show_simulation
            draw_quantiles
          end
          show_clients if measured.any?
        end

        def show_simulation
          tail = Simulation::Tail
          rows = simulated.map { |name, results| [name, *well(name, results), *trouble(name, results)] }
          title = "Simulation: one response of #{(1 / tail::SLOW_SHARE).round} is slow, then all are slow"
          note = "Milliseconds, and requests beyond one per call; medians of #{counted(seeds, "run")}, seeds " \
                 "from #{@seed} on. #{tail::PER_SECOND} calls a second."
          @result.table(title, SIMULATED, rows, optional: ["p99.9"], note: note)
          say_simulation(*rows.map { |row| SIMULATED.zip(row).to_h })
        end

        # @param rows [Array<Hash>] of WAYS
        def say_simulation(none, unlimited, hedged)
          @result.say("Simulation: hedging takes p99 from #{none["p99"]} ms to #{hedged["p99"]} ms, for " \
                      "#{hedged["more"]} more requests.")
          @result.say("Simulation: when all responses are slow (p50 #{none["slow: p50"]} ms), hedging without a " \
                      "budget sends #{unlimited["slow: more"]} more (p50 #{unlimited["slow: p50"]} ms), with the " \
                      "budget #{hedged["slow: more"]} (p50 #{hedged["slow: p50"]} ms).")
        end

        def well(name, results)
          times = [50, 95, 99, 99.9].map do |share|
            milliseconds(name, "p#{share}", results) { |one| one.percentile(share) }
          end
          [*times, percent(name, "more requests", results, &:extra)]
        end

        def trouble(name, results)
          within = Simulation::Tail::TROUBLE
          [milliseconds(name, "p50 when all is slow", results) { |one| one.percentile(50, within) },
           percent(name, "more requests when all is slow", results) { |one| one.extra(within) }]
        end

        def milliseconds(name, what, results)
          values = results.map { |one| yield(one) * 1000 }
          format("%.0f", figure("simulation, #{name}", "simulation: #{what}", values, unit: "ms").value)
        end

        def percent(name, what, results)
          values = results.map { |one| yield(one) * 100 }
          format("%.1f %%", figure("simulation, #{name}", "simulation: #{what}", values, unit: "%").value)
        end

        def draw_quantiles
          series = @by_quantile.map do |name, results|
            points = results.map do |after, one|
              { x: after.to_s.delete_prefix("p").to_i, y: (one.percentile(99) * 1000).round(1),
                dot: (one.extra * 100).round(1) }
            end
            { label: name, ours: trunkline?(name), points: points }
          end
          @result.chart(:sweep, "Simulation: p99 by the quantile after which a second request is sent",
                        x: "quantile", y: "p99 ms", dots: "more %", series: series)
        end

        def show_clients
          rows = measured.map { |label| row(label, samples.fetch(label)) }
          @result.table("GETs of distinct URLs, which take #{ms(SECONDS)} ms, some #{ms(SLOW_SECONDS)} ms",
                        ["client", *SHARES.keys.map { |name| "#{name} ms" }, "more", "failed"], rows,
                        note: "#{@calls} GETs, #{IN_FLIGHT} in flight, medians of #{counted(runs, "run")}; " \
                              "#{(SLOW_SHARE * 100).round} % of the requests are slow. \"timeout and retry\": after " \
                              "#{ms(Retrying::IMPATIENT)} ms. More: requests that reached the server beyond one per " \
                              "call. No POSTs: only safe methods are hedged.")
          bars = rows.map { |row| { label: row.first, value: row[3].to_f, ours: trunkline?(row.first) } }
          @result.chart(:bars, "Time within which 99 of 100 GETs end", unit: "ms", bars: bars)
          rows.each { |row| say(*row) }
        end

        def say(label, _, _, longest, more, failed)
          failures = ", and #{counted(failed, "call")} failed" if failed.positive?
          @result.say("#{label}: p99 #{longest} ms, for #{more} more requests#{failures}.")
        end

        def row(label, taken)
          times = SHARES.map do |name, share|
            values = taken.map { |one| one[:latency].percentile(share) / 1000.0 }
            figure(label, name, values, unit: "ms", key: name == "p50").value
          end
          more = figure(label, "more requests", taken.map { |one| one[:more] }, unit: "%").value
          [label, *times.map { |time| format("%.1f", time) }, format("%.1f %%", more), taken.sum { |one| one[:failed] }]
        end

        def ms(seconds) = (seconds * 1000).round
      end
    end
  end
end
