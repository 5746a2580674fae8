# frozen_string_literal: true

require_relative "../calls"
require_relative "../facts"
require_relative "../origins/counting"
require_relative "../simulated"
require_relative "../simulation/storm"

module Trunkline
  module Lab
    module Commands
      # Retries towards a failing server: how many additional requests it gets, and whether it recovers.
      class Storm < Command
        include Facts
        include Simulated

        summary "retries against a failing server: the load on it, with and without a retry budget"
        usage "[CALLS] [RUNS]"
        timed false

        CLIENTS = %w[trunkline_alone trunkline_retry trunkline_retry_unlimited faraday_retry httpx_retries].freeze
        # Name => the server's reaction to each request.
        FAILURES = {
          "503" => ->(connection) { connection.answer("out of order", status: "503 Service Unavailable") },
          "cut off" => ->(_connection) { :close }
        }.freeze
        # Name => the clients' requests.
        CALLS = {
          "GET" => { call: { path: "/" }, kind: "distinct" },
          "POST" => { call: { verb: "POST", path: "/", headers: { "Content-Type" => "application/json" } },
                      kind: "json" }
        }.freeze
        TURNS = CALLS.keys.product(FAILURES.keys).freeze
        IN_FLIGHT = 20
        SECONDS = 120 # seconds that a client may take for a turn
        BOUND = 1.2   # maximum requests per call with a budget of 10 % and its floor
        STEP = 5      # seconds of a simulation per point of a chart

        private

        def defaults
          @calls = 500
          @runs = 3
        end

        def title = "Retries against a failing server, GETs of distinct URLs and POSTs of JSON"

        def measure
          simulate(Simulation::Storm::WAYS) { |way, seed| Simulation::Storm.run(way, seed) }
          take unless @simulation_only
        end

        # Each turn of each client runs in a separate process with a separate server, so that each budget starts empty.
        def take
          loaded = load_all
          rounds = rounds(@runs)
          @screen.progress("storm", @runs * TURNS.size) do |advance|
            rounds.each do
              TURNS.shuffle.each do |turn|
                loaded.shuffle.each { |preloaded| turn(rounds, preloaded, turn) }
                advance.call
              end
            end
          end
        ensure
          loaded&.each(&:stop)
        end

        def turn(rounds, preloaded, turn)
          label = preloaded.peer.label
          rounds.take([label, turn]) { sample(preloaded, *turn) } unless @result.missing.key?(label)
        rescue PeerProcess::Failed => error
          @result.missing[label] = error.message
        end

        # @return [Hash] load: requests per call; twice: number of requests that arrived more than once
        def sample(preloaded, calls, failure)
          Origins::Counting.open(FAILURES.fetch(failure)) do |origin, base|
            preloaded.process(base: base) do |process|
              arrivals = origin.count do
                process.ask(:many, **CALLS.fetch(calls), concurrency: IN_FLIGHT, requests: @calls, limit: SECONDS)
              end
              { load: arrivals.sum / @calls.to_f, twice: arrivals.count { |times| times > 1 } }
            end
          end
        end

        def conclude
          show_simulation if simulated.any?
          show_clients if measured.any?
        end

        def show_simulation
          storm = Simulation::Storm
          note = "Requests per call; medians of #{counted(seeds, "run")}, seeds from #{@seed} on, and the longest " \
                 "time until the server recovers. There are #{storm::PER_SECOND} calls a second, the server can " \
                 "process #{(storm::WORKERS / storm::SECONDS).round}, and callers wait #{storm::PATIENCE.round} s."
          @result.table("Simulation: a server ten times slower for #{storm::TROUBLE.size} s",
                        ["way", "load during", "load after", "successful", "recovers in"],
                        simulated.map { |name, results| simulated_row(name, results) }, note: note)
          draw("requests that reach the server", "requests/s", &:arrived)
          draw("calls that succeed", "calls/s", &:good)
          simulated.each { |name, results| @result.say(recovery(name, results)) }
          @result.data[:simulation] = simulated.transform_values { |results| results.map(&:to_h) }
        end

        def simulated_row(name, results)
          storm = Simulation::Storm
          load = { "load during" => storm::TROUBLE, "load after" => storm::TROUBLE.end...storm::UNTIL }
          loads = load.map do |what, seconds|
            figure("simulation, #{name}", what, results.map { |one| one.per_call(seconds) })
          end
          answered = Statistics.median(results.map(&:answered))
          [name, *loads.map { |one| format("%.2fx", one.value) }, format("%.1f %%", answered * 100),
           longest_recovery(results)]
        end

        # @return [String] the longest time to recover among the runs
        def longest_recovery(results)
          times = results.map(&:recovery)
          times.include?(nil) ? "not in #{Simulation::Storm::AFTER} s" : "#{times.max} s"
        end

        def recovery(name, results)
          what = "Simulation, #{name}: the server"
          return "#{what} recovers within #{longest_recovery(results)}." if results.all?(&:recovery)

          "#{what} does not recover in the #{Simulation::Storm::AFTER} s that follow, because the retries keep " \
            "it overloaded."
        end

        # Draws the first run of each way.
        def draw(what, unit)
          series = simulated.map do |name, results|
            points = yield(results.first).each_slice(STEP).with_index.map do |counts, index|
              { x: index * STEP, y: counts.sum / counts.size.to_f }
            end
            { label: name, ours: trunkline?(name), points: points }
          end
          @result.chart(:lines, "Simulation: #{what}", x: "seconds", y: unit, series: series)
        end

        def show_clients
          rows = measured.map { |label| [label, *TURNS.map { |turn| load_cell(label, turn) }, twice(label)] }
          columns = TURNS.map { |turn| turn.join(", ") }
          @result.table("A server that fails every request, GETs of distinct URLs and POSTs of JSON",
                        ["client", *columns, "POSTs twice"], rows,
                        note: "Requests that reached the server, per call: #{@calls} calls, #{IN_FLIGHT} in flight, " \
                              "medians of #{counted(runs, "run")}. POSTs twice: those that the server received " \
                              "more than once, in total.")
          bars = rows.map { |row| { label: row.first, value: row[1].to_f, ours: trunkline?(row.first) } }
          @result.chart(:bars, "Requests per GET, when the server responds with 503 to all", unit: "x", bars: bars)
          say
        end

        def load_cell(label, turn)
          taken = samples[[label, turn]] or return
          format("%.2fx", figure(label, "requests per #{turn.join(", ")}", taken.map { |one| one[:load] }).value)
        end

        def twice(label)
          taken = samples.select { |(of, turn), _| of == label && turn.first == "POST" }
          taken.each_value.sum { |list| list.sum { |one| one[:twice] } }
        end

        def say
          within, beyond = measured.partition { |label| most(label) <= BOUND }
          @result.say("At most #{BOUND} requests per call with each failure: #{within.join("; ")}.") if within.any?
          beyond.each { |label| @result.say("#{label}: up to #{format("%.2f", most(label))} requests per call.") }
          repeated = measured.select { |label| twice(label).positive? }
          @result.say(repeated.empty? ? "No POST arrived twice." : "POSTs arrived twice from #{repeated.join("; ")}.")
        end

        def most(label)
          TURNS.flat_map { |turn| samples[[label, turn]].to_a }.map { |one| one[:load] }.max
        end
      end
    end
  end
end
