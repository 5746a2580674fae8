# frozen_string_literal: true

require_relative "../errors"
require_relative "../options"
require_relative "../policy/chain"

module Trunkline
  module Facades
    # The policies that a program gives to a facade, where its calls may go, and what is logged of them: the library
    # that the facade stands for has no options for these.
    module Policies
      NAMES = %i[policies retry breaker rate hedge coalesce cache cookies use deadline_header
                 deprecations egress logger log curl redact].freeze

      # @param given [Hash{Symbol => Object}] options of a client
      # @param library [String] for the error
      # @return [Hash{Symbol => Object}] checked, which may be checked again
      # @raise [InvalidRequest]
      def self.check(given, library)
        unknown = given.keys - NAMES
        unless unknown.empty?
          raise InvalidRequest.of("option", unknown.first, "one of #{NAMES.join(", ")}; others are #{library}'s own")
        end

        Options.check_call(given).freeze
      end
    end
  end
end
