# frozen_string_literal: true

require_relative "../redaction"

module Trunkline
  module Instrument
    # What instruments show of a request's URL to the services of tracing tools.
    #
    # @api private
    module Shown
      module_function

      # @param request [Request]
      # @return [String] without userinfo, and with the values of parameters that are credentials hidden
      def url(request) = Redaction.of(request).url(request.url)

      # @return [String] scheme, host and path
      def place(request) = "#{request.uri.origin}#{request.uri.path}"

      # @return [String, nil] the query, as #url shows it
      def query(request) = url(request)[/\?(.*)/m, 1]
    end
  end
end
