# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../loading"
require_relative "../../redacted"
require_relative "../policy_options"

module Trunkline
  module Policy
    class Breaker
      # Base class of the objects allowed as store:, which keep circuits outside of this process. A subclass implements
      # #circuit, whose result responds to #run and #to_h as a Circuit does, and #used_options.
      class Store
        include Redacted

        CHECK = PolicyOptions::Check.new("a Trunkline::Policy::Breaker::Stoplight or ::Semian",
                                         ->(value) { value if value.is_a?(Store) })

        # @param gem_name [String] the gem to load
        # @param version [String] the oldest supported version
        # @raise [InvalidRequest]
        def initialize(gem_name, version)
          Loading.in_thread_if_needed { require gem_name }
          found = Gem.loaded_specs[gem_name]&.version
          return if found.nil? || found >= Gem::Version.new(version)

          raise InvalidRequest, "store: #{self.class} needs #{gem_name} #{version} or newer, found #{found}"
        rescue LoadError
          raise InvalidRequest, "store: #{self.class} needs the gem #{gem_name} (#{version} or newer), which is not " \
                                "installed"
        end

        # @param given [Hash{Symbol => Object}] options of breaker: that the caller gave
        # @raise [InvalidRequest] for an option that would have no effect
        def check(given)
          ignored = (given.keys - used_options - %i[store failure]).first or return

          raise InvalidRequest, "breaker: #{ignored}: has no effect with a store: of #{self.class}"
        end
      end
    end
  end
end
