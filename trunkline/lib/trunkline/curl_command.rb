# frozen_string_literal: true

require_relative "redaction"
require_relative "curl_command/connection"

module Trunkline
  # A Request as a command of curl, to be pasted into a shell.
  #
  # @api private
  module CurlCommand
    # What curl sends by itself, with the same values.
    OWN = %w[host content-length transfer-encoding accept-encoding expect].freeze

    class << self
      # @param request [Request]
      # @param redaction [Redaction, nil] of what is a credential by its name; nil: all is shown
      # @return [String]
      def of(request, redaction = nil)
        parts = ["curl", *verb(request)]
        parts.concat(fields(request, redaction))
        parts << "--compressed" if request.headers.key?("accept-encoding")
        parts.concat(connection(request, redaction)) if request.builder
        url = redaction ? redaction.url(request.url) : request.url
        [*parts, *body(request, redaction), "--globoff", quoted(url)].join(" ")
      end

      private

      def connection(request, redaction)
        Connection.new(request, secrets: redaction.nil?).arguments.map { |one| quoted(one) }
      end

      def verb(request)
        name = request.method
        return ["--head"] if name == "HEAD"

        name == "GET" && !request.content? ? [] : ["--request", quoted(name)]
      end

      def fields(request, redaction)
        headers = request.headers
        added = ["User-Agent", "Accept", *("Content-Type" if request.content?)].reject { |name| headers.key?(name) }
        # Of a request without content, curl says no length.
        empty = ["--header", "'Content-Length: 0'"] if !request.content? && headers.key?("Content-Length")
        [*shown(headers, redaction), *empty, *added.flat_map { |name| ["--header", "#{name}:"] }]
      end

      def shown(headers, redaction)
        headers.reject { |name, _| OWN.include?(name.downcase) }.flat_map do |name, value|
          value = Redaction::HIDDEN if redaction&.hides?(name)
          ["--header", quoted(value.empty? ? "#{name};" : "#{name}: #{value}")]
        end
      end

      # What is no text, or no String, is expected on the command's standard input.
      def body(request, redaction)
        content = request.content
        return [] if content.nil?
        return ["--data-binary", "@-"] unless content.is_a?(String) && text(content).valid_encoding?

        return ["--data-binary", "@-"] if content.include?("\0")

        content = redaction.body(text(content), request.headers["content-type"]) if redaction
        ["--data-raw", quoted(content)]
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
