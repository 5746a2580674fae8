# frozen_string_literal: true

require_relative "lab"

module Bench
  # One measured figure, and its bar: the value that it must reach. A figure without a bar is informative only. A figure
  # with a client and a group is one cell of the group's table.
  Figure = Struct.new(:name, :value, :unit, :bar, :reach, :better, :spread, :samples, :note, :group, :client,
                      keyword_init: true) do
    # Makes a figure whose value is the median of the samples.
    def self.of(samples, better: "higher", **rest)
      new(value: Statistics.median(samples), spread: Statistics.spread(samples), samples: samples.size,
          better: better, **rest)
    end

    def holds = meets(bar)

    def reaches = meets(reach)

    def to_h
      super.merge(holds: holds, reaches: reaches, value: rounded(value), spread: spread&.map do |edge|
        rounded(edge)
      end).compact
    end

    private

    def meets(target)
      return if target.nil?

      better == "higher" ? value >= target : value <= target
    end

    def rounded(number)
      if number.is_a?(Float)
        number.round(number.abs < 10 ? 3 : 1)
      else
        number
      end
    end
  end
end
