# frozen_string_literal: true

module Trunkline
  module Insight
    # @api private
    module Seconds
      # @param seconds [Float]
      # @return [String] "1.84 s"; with three decimals for short times, "0.034 s"
      def self.of(seconds) = format(seconds < 0.0995 ? "%.3f s" : "%.2f s", seconds)
    end
  end
end
