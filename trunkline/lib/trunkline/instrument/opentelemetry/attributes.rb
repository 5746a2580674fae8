# frozen_string_literal: true

require_relative "../reported_url"

module Trunkline
  module Instrument
    module OpenTelemetry
      # Attributes of an attempt, following the semantic conventions for HTTP (1.23 and later).
      #
      # @api private
      module Attributes
        METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE QUERY].to_h { |name| [name, true] }.freeze
        OTHER = "_OTHER"
        private_constant :METHODS

        module_function

        # @return [Hash{String => Object}] attributes that spans and metrics share
        def common(request)
          uri = request.uri
          { "http.request.method" => known_method(request), "server.address" => uri.host, "server.port" => uri.port }
        end

        # @param resent [Integer] number of requests that the call sent before
        # @param body_size [Boolean] whether the size of its body is included
        # @return [Hash{String => Object}] attributes of a span at its start
        def of_request(request, resent, body_size)
          attributes = common(request)
          attributes["url.full"] = ReportedURL.url(request)
          attributes["url.template"] = request.template if request.template
          attributes["http.request.method_original"] = request.method if other?(request)
          attributes["http.request.resend_count"] = resent if resent.positive?
          size = body_size && request.content_length
          attributes["http.request.body.size"] = size if size && size >= 0 && request.content?
          attributes
        end

        # @param result [Response, Exception, nil] nil when the request was cancelled
        # @return [Hash{String => Object}] attributes of the result that spans and metrics share
        def of_result(result)
          return { "error.type" => result ? result.class.name : "cancelled" } unless result.is_a?(Response)

          attributes = { "http.response.status_code" => result.status,
                         "network.protocol.version" => result.http_version }
          attributes["error.type"] = result.status.to_s if result.status >= 400
          attributes
        end

        # @return [String] "GET", "GET /users/{id}"; "HTTP" for a method that is not in the conventions
        def span_name(request)
          name = other?(request) ? "HTTP" : request.method
          request.template ? "#{name} #{request.template}" : name
        end

        def known_method(request) = other?(request) ? OTHER : request.method

        def other?(request) = !METHODS.key?(request.method)
      end
    end
  end
end
