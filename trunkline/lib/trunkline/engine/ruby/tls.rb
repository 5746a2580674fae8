# frozen_string_literal: true

require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The TLS contexts of a Config: made when they are first needed, because reading CA certificates takes long.
      class TLSContexts
        include Redacted

        CLIENT = { client_cert: nil, client_key: nil, client_key_password: nil }.freeze
        private_constant :CLIENT

        # @param options [Hash] see Options#to_engine
        def initialize(options)
          @options = options
          @made = {}
          freeze
        end

        def own = @made[:own] ||= obtain(@options)

        def for_proxies = @made[:proxies] ||= obtain(@options.merge(CLIENT))

        private

        # Programs without https do without OpenSSL.
        def obtain(options)
          require_relative "tls_context"
          TLSContext.obtain(options)
        end
      end
    end
  end
end
