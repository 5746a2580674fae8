# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # A Request as a command of curl, to be pasted into a shell.
  #
  # @api private
  module CurlCommand
    # What curl sends by itself.
    OWN = %w[host content-length transfer-encoding accept-encoding expect].freeze
    # Fields whose values are credentials.
    SECRET = /\A(authorization|proxy-authorization|cookie|x-api-key)\z|token|secret|password/i

    class << self
      # @param request [Request]
      # @param secrets [Boolean] whether the values of credentials are shown
      # @return [String]
      def of(request, secrets: false)
        parts = ["curl", *verb(request)]
        parts.concat(fields(request.headers, secrets))
        parts << "--compressed" if request.headers.key?("accept-encoding")
        [*parts, *body(request.content), quoted(request.url)].join(" ")
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

      # curl takes what a String cannot show from its standard input.
      def body(content)
        case content
        when nil then []
        when String then ["--data-raw", quoted(content)]
        else ["--data-binary", "@-"]
        end
      end

      # In a shell, nothing within single quotes has a meaning but the quote itself.
      def quoted(text)
        return text if text.match?(%r{\A[\w./:-]+\z})

        "'#{text.gsub("'", "'\\\\''")}'"
      end
    end
  end
end
