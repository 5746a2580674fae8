# frozen_string_literal: true

require_relative "../caller_context"

module Trunkline
  module Instrument
    # Tells whether a tracing tool reports the current call already, because the call comes from a library that the tool
    # has patched.
    #
    # @api private
    class Patches
      include Redacted

      TARGETS = { net_http: "Net::HTTP", faraday: "Faraday::Connection" }.freeze
      private_constant :TARGETS

      # @param modules [Hash{Symbol => String}] by library, the name of the module that the tool prepends to its class
      # @param targets [Hash{Symbol => String}] classes that replace Net::HTTP and Faraday::Connection as targets, by
      #   library
      def initialize(modules, targets = {})
        @modules = modules
        @targets = { **TARGETS, **targets }
      end

      # @return [Boolean]
      def reports_current_call?
        library = CallerContext.library or return false
        patch = @modules[library]
        return false unless patch && Object.const_defined?(patch)

        (Object.const_get(@targets.fetch(library)) <= Object.const_get(patch)) || false
      end
    end
  end
end
