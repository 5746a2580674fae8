# frozen_string_literal: true

require_relative "../curl_command"
require_relative "../redacted"

module Trunkline
  module Instrument
    # What instruments show of a request's URL to the services of tracing tools.
    #
    # @api private
    module Shown
      # Parameters of signed URLs whose names do not say so.
      SIGNED = /([?&](?:sig|X-Amz-Credential)=)[^&]*/i
      private_constant :SIGNED

      module_function

      # @param request [Request]
      # @return [String] without userinfo, and with the values of parameters that are credentials hidden
      def url(request)
        url = request.url
        return url unless url.include?("?")

        url.gsub(CurlCommand::SECRET_PARAMETER, "\\1#{Redacted::HIDDEN}").gsub(SIGNED, "\\1#{Redacted::HIDDEN}")
      end

      # @return [String] scheme, host and path
      def place(request) = "#{request.uri.origin}#{request.uri.path}"

      # @return [String, nil] the query, as #url shows it
      def query(request) = url(request)[/\?(.*)/m, 1]
    end
  end
end
