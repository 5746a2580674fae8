# frozen_string_literal: true

module Trunkline
  module Lab
    # What every client that repeats requests is told, each in its own words.
    module Retrying
      ATTEMPTS = 3
      STATUSES = [429, 502, 503, 504].freeze
      PAUSE = 0.01         # seconds before the second attempt, at random about that
      LONGEST_PAUSE = 0.1  # seconds
      IMPATIENT = 0.05     # seconds after which those that cannot hedge give up an answer, and ask again
    end
  end
end
