# frozen_string_literal: true

require_relative "../../client"
require_relative "../../memo"
require_relative "../../options"
require_relative "../connections"

module Trunkline
  module Facades
    module NetHTTP
      # The clients of the facade, one for each set of client options. They share the facade's connections.
      module Clients
        # Net::HTTP accepts any number of connections and header fields, and a body of any size.
        LIMITS = { **Connections::UNLIMITED, max_header_bytes: 1024 * 1024, max_headers: Connections::NO_LIMIT }.freeze
        CACHE_LIMIT = 256

        # Makes the engine as lenient with a server's responses as Net::HTTP is.
        class LenientOptions < Trunkline::Options
          def lenient? = true
        end

        private_constant :LIMITS, :CACHE_LIMIT, :LenientOptions

        @connections = Connections.new
        @clients = {}
        @policies = {}.freeze

        class << self
          # @param options [Hash{Symbol => Object}] client options
          # @return [Client]
          # @raise [InvalidRequest]
          def for(options)
            @clients[options] || Memo.keep(@clients, CACHE_LIMIT, options.freeze, make(options))
          end

          # @param options [Hash{Symbol => Object}] policies of all clients, checked
          # @return [void]
          def policies=(options)
            @policies = options
            @clients = {}
          end

          # @return [Boolean] whether egress: restricts the connections
          def guarded? = !@policies[:egress].nil?

          # @return [nil]
          def close_idle
            @connections.close_idle
          end

          private

          # Trunkline.configure does not apply to Net::HTTP's requests.
          def make(options)
            defaults = LenientOptions.new(Trunkline::Options.defaults.to_h)
            Client.new(nil, defaults.merge({ **LIMITS, **@policies, **options }), @connections.pool_handle)
          end
        end
      end
    end
  end
end
