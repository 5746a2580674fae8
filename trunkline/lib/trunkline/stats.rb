# frozen_string_literal: true

module Trunkline
  # The counters of Client#stats, read at one moment, and the limits that apply to them.
  class Stats < Hash
    # Every limit that applies to the client, by its name in docs/limits.md.
    #
    # @return [Hash{Symbol => Numeric, Hash, nil}] nil: no limit
    def bounds = fetch(:bounds)

    # The limits that concurrency: :auto has found, by origin, in the whole process: { "https://api.test" => { limit:,
    # state: (:start, :cruise, :probe_up, :probe_down, :descent), last_probe:, why:, rate: (starts per second, learnt
    # from 429s, or nil) } }
    #
    # @return [Hash{String => Hash}]
    def limits = fetch(:limits)
  end
end
