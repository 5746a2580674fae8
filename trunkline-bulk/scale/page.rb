# frozen_string_literal: true

require_relative "simulation"

# The text of docs/scale.md, from the simulation.
module ScalePage
  SEED = 1
  FLEET = { workers: 1_000, urls: 1_000_000_000, slice: 1_000, in_flight: 50, latency: 0.08, spread: 0.8, slow: 1_000,
            life: 3_600.0, lease: 30.0, interval: 0.25 }.freeze
  # name => differences from FLEET
  FLEETS = {
    "1,000 workers, slices of 1,000" => {},
    "slices of 5,000" => { slice: 5_000 },
    "100 workers, slices of 1,000" => { workers: 100, urls: 100_000_000 },
    "workers that live 5 minutes" => { life: 300.0 },
    "a lease of 120 s" => { lease: 120.0 },
    "requests of 1 s (median)" => { latency: 1.0, urls: 100_000_000 }
  }.freeze
  # Calls of Redis per second by all workers together (Limits::Redis::CALLS), and writes per second of one small
  # database.
  REDIS_CALLS = 80
  DATABASE = 5_000

  INTRODUCTION = <<~TEXT.freeze
    # How far bulk runs go

    The load of a fleet on its database and its Redis, from a seeded simulation (`rake bulk:scale` writes this page; seed
    #{SEED}). Nothing here was measured on a real fleet. Each worker claims one slice after another and has 50 requests in
    flight. A request takes 80 ms (median, log-normal with a spread of 0.8), in one of 1,000 slices twenty times as long. A
    worker dies once an hour and is back after 5 s. Leases are 30 s; finished items are recorded every 0.25 s.

    | fleet | requests/s | hours | database writes/s, mean | database writes/s, maximum | Redis calls/s | lost to dead workers | lost to stragglers | repeated requests |
    |---|---|---|---|---|---|---|---|---|
  TEXT

  CONCLUSION = <<~TEXT.freeze

    A write is one transaction: cutting four slices, a claim, a record, a lease renewal, or a report. All workers together
    call Redis at most #{REDIS_CALLS} times a second, whatever their number: the interval for which each worker gets its share
    grows with them. "Lost to stragglers" is the time of workers that have nothing left to do while the last slices end.

    ## What breaks first
  TEXT

  module_function

  # @return [String]
  def text
    outcomes = FLEETS.transform_values { |changes| ScaleSimulation.new(fleet(changes), SEED).run }
    rows = outcomes.map { |name, outcome| row(name, outcome) }
    "#{INTRODUCTION}#{rows.join("\n")}\n#{CONCLUSION}\n#{breaking(outcomes)}"
  end

  def fleet(changes) = ScaleSimulation::Fleet.new(**FLEET, **changes)

  def row(name, outcome)
    cells = [name, thousands(outcome.requests_a_second), format("%.2f", outcome.seconds / 3600),
             thousands(outcome.writes_a_second), thousands(outcome.most_writes), REDIS_CALLS,
             percent(outcome.lost_to_leases), percent(outcome.lost_to_stragglers), percent(outcome.repeated)]
    "| #{cells.join(" | ")} |"
  end

  def breaking(outcomes)
    writes = outcomes.fetch("1,000 workers, slices of 1,000").writes_a_second
    workers = (FLEET[:workers] * DATABASE / writes).round(-1)
    <<~TEXT
      The database: a thousand workers that record four times a second write #{thousands(writes)} times a second, and one
      PostgreSQL on one disk handles about #{thousands(DATABASE)} small transactions a second. So it is at its limit with about
      #{thousands(workers)} such workers. This number hardly depends on the size of a slice, since most writes are records. It
      would be higher with a longer `interval`; that is not an option, because a dead worker would then repeat more items.
      Neither Redis nor leases are the limit: the slice of a dead worker waits 30 s, but no other work waits for it until the
      end of the run.
    TEXT
  end

  def thousands(number) = number.round.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')

  def percent(share) = format("%.3f %%", share * 100)
end
