# frozen_string_literal: true

require_relative "../redaction"

module Trunkline
  module Instrument
    # Parts of a request's URL that may be sent to tracing services.
    #
    # @api private
    module ReportedURL
      module_function

      # @param request [Request]
      # @return [String] URL without userinfo, with the values of credential parameters redacted
      def url(request) = Redaction.of(request).url(request.url)

      # @return [String] scheme, host and path
      def without_query(request) = "#{request.uri.origin}#{request.uri.path}"

      # @return [String, nil] the query, redacted as in #url
      def query(request) = url(request)[/\?(.*)/m, 1]
    end
  end
end
