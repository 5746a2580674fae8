# frozen_string_literal: true

module Trunkline
  class Bulk
    # There is no run of that name.
    class UnknownRun < StandardError; end

    # A source, or a result, that cannot be used as it is.
    class InvalidItem < StandardError; end

    # Another worker has taken over what this one worked at: what it did since is not recorded.
    #
    # @api private
    class LeaseLost < StandardError; end
  end
end
