# frozen_string_literal: true

module Trunkline
  module Insight
    # @api private
    module Seconds
      # @param seconds [Float]
      # @return [String] "1.84 s", or "0.034 s" of what is short
      def self.of(seconds) = format(seconds < 0.0995 ? "%.3f s" : "%.2f s", seconds)
    end
  end
end
