# frozen_string_literal: true

module Bench
  module Statistics
    module_function

    def median(values)
      sorted = values.sort
      middle = sorted.size / 2
      sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    # The quartiles: half of the samples lie between them.
    def spread(values)
      sorted = values.sort
      last = sorted.size - 1
      [sorted[(last * 0.25).floor], sorted[(last * 0.75).ceil]]
    end
  end
end
