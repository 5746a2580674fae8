# frozen_string_literal: true

module Trunkline
  module Lab
    # Settings for every client that retries, translated into the options of each.
    module Retrying
      ATTEMPTS = 3
      STATUSES = [429, 502, 503, 504].freeze
      PAUSE = 0.01         # mean seconds before the second attempt, randomised
      LONGEST_PAUSE = 0.1  # seconds
      IMPATIENT = 0.05     # seconds after which clients without hedging abandon a request and retry it
    end
  end
end
