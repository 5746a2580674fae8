# frozen_string_literal: true

module Trunkline
  class Bulk
    # Raised when there is no run of that name.
    class UnknownRun < StandardError; end

    # Raised for a source, or an item of it, that cannot be used.
    class InvalidItem < StandardError; end

    # Raised when another worker has taken over a slice or the source: this worker's results since then are not
    # recorded.
    #
    # @api private
    class LeaseLost < StandardError; end
  end
end
