# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # A Request as a command of curl, to be pasted into a shell.
  #
  # @api private
  module CurlCommand
    # What curl sends by itself.
    OWN = %w[host content-length transfer-encoding accept-encoding expect].freeze
    # Names of fields and of parameters of a query whose values are credentials.
    SECRET = /auth|cookie|key|token|secret|password|session|signature/i
    SECRET_PARAMETER = /([?&][^=&]*(?:#{SECRET.source})[^=&]*=)[^&]*/i

    class << self
      # @param request [Request]
      # @param secrets [Boolean] whether the values of credentials are shown
      # @return [String]
      def of(request, secrets: false)
        parts = ["curl", *verb(request)]
        parts.concat(fields(request.headers, secrets))
        parts << "--compressed" if request.headers.key?("accept-encoding")
        url = secrets ? request.url : request.url.gsub(SECRET_PARAMETER, "\\1#{Redacted::HIDDEN}")
        [*parts, *body(request.content), "--globoff", quoted(url)].join(" ")
      end

      private

      def verb(request)
        name = request.method
        return ["--head"] if name == "HEAD"

        name == "GET" && !request.content? ? [] : ["--request", quoted(name)]
      end

      def fields(headers, secrets)
        headers.reject { |name, _| OWN.include?(name.downcase) }.flat_map do |name, value|
          value = Redacted::HIDDEN if !secrets && name.match?(SECRET)
          ["--header", quoted(value.empty? ? "#{name};" : "#{name}: #{value}")]
        end
      end

      # What is no text, or no String, is expected on the command's standard input.
      def body(content)
        return [] if content.nil?
        return ["--data-binary", "@-"] unless content.is_a?(String) && text(content).valid_encoding?

        content.include?("\0") ? ["--data-binary", "@-"] : ["--data-raw", quoted(content)]
      end

      def text(string) = string.dup.force_encoding(Encoding::UTF_8)

      # In a shell, nothing within single quotes has a meaning but the quote itself.
      def quoted(string)
        shown = text(string).scrub
        return shown if shown.match?(%r{\A[\w./:-]+\z})

        "'#{shown.gsub("'", "'\\\\''")}'"
      end
    end
  end
end
