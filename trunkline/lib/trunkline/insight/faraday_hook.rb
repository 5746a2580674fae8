# frozen_string_literal: true

require_relative "outgoing"

module Trunkline
  module Insight
    # Prepended to Faraday::RackBuilder, which runs a request through the middleware, to watch adapters of other
    # libraries.
    #
    # @api private
    module FaradayHook
      # Idempotent.
      # @return [void]
      def self.install
        return if @installed || !defined?(::Faraday::RackBuilder)

        @installed = true
        ::Faraday::RackBuilder.prepend(self)
      end

      # @param connection [Faraday::Connection]
      # @param request [Faraday::Request]
      # @return [Hash{Symbol => Object}] members of a Call
      def self.facts(connection, request, response)
        options = request.options
        chosen = options.timeout || options.open_timeout || options.read_timeout
        url = connection.build_exclusive_url(request.path, request.params, options.params_encoder)
        { library: "Faraday", status: response&.status, timeout: ("none" unless chosen),
          **Call.request(request.http_method.to_s.upcase, [url.scheme, url.host, url.port], url.request_uri,
                         headers: request.headers) }
      end

      # Calls of in_parallel run later and concurrently; Trunkline's adapter reports them itself.
      def build_response(connection, request)
        return super if connection.in_parallel?

        Outgoing.watch(->(response) { FaradayHook.facts(connection, request, response) }) { super }
      end
    end
  end
end
