# frozen_string_literal: true

module Trunkline
  # The counters of Client#stats, read at one moment, and the limits they are held to.
  class Stats < Hash
    # Every limit that holds for the client, by its name in docs/limits.md.
    #
    # @return [Hash{Symbol => Numeric, Hash, nil}] nil: there is none
    def bounds = fetch(:bounds)

    # What :auto has found out, by origin, in the whole process: { "https://api.test" => { limit:, state: (:start,
    # :cruise, :probe_up, :probe_down), last_probe:, why:, rate: (starts a second learnt from 429s, or nil) } }
    #
    # @return [Hash{String => Hash}]
    def limits = fetch(:limits)
  end
end
