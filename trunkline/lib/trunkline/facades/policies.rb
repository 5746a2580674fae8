# frozen_string_literal: true

require_relative "../errors"
require_relative "../options"
require_relative "../policy/chain"

module Trunkline
  module Facades
    # Checks the options that a program gives to a facade for policies, egress and logging. The library that the facade
    # replaces has no such options.
    module Policies
      NAMES = Options::TABLE.each_value.select(&:facades).map(&:name).freeze

      # @param options [Hash{Symbol => Object}] options of a client
      # @param library [String] the library's name, for the error message
      # @return [Hash{Symbol => Object}] the checked options; they may be checked again
      # @raise [InvalidRequest]
      def self.check(options, library)
        unknown = options.keys - NAMES
        unless unknown.empty?
          raise InvalidRequest.of("option", unknown.first, "one of #{NAMES.join(", ")}; others are #{library}'s own")
        end

        Options.check_call(options).freeze
      end
    end
  end
end
