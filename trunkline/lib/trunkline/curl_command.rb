# frozen_string_literal: true

require_relative "multipart"
require_relative "redaction"
require_relative "curl_command/connection"
require_relative "curl_command/form"

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

      # @param string [String]
      # @return [String, nil] in UTF-8; nil when it is no text that a command can hold
      def text(string)
        text = string.dup.force_encoding(Encoding::UTF_8)
        text if text.valid_encoding? && !text.include?("\0")
      end

      # @param source [Object] of a body
      # @return [String, nil] of a file
      def path(source)
        path = source.to_path if source.respond_to?(:to_path)
        File.expand_path(path) if path.is_a?(String) && File.file?(path)
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
        headers = headers.reject { |name, _| name.casecmp?("content-type") } if form?(request)
        [*shown(headers, redaction), *empty, *added.flat_map { |name| ["--header", "#{name}:"] }]
      end

      def shown(headers, redaction)
        headers.reject { |name, _| OWN.include?(name.downcase) }.flat_map do |name, value|
          value = Redaction::HIDDEN if redaction&.hides?(name)
          ["--header", quoted(value.empty? ? "#{name};" : "#{name}: #{value}")]
        end
      end

      # What is neither text nor a file is expected on the command's standard input.
      def body(request, redaction)
        return [] unless request.content?
        return Form.new(request.body, redaction).arguments.map { |one| quoted(one) } if form?(request)

        content = request.content
        content = content.is_a?(String) ? text(content) : nil
        if content.nil?
          path = path(request.body)
          whole = path && File.size(path) == request.content_length
          return ["--data-binary", whole ? quoted("@#{path}") : "@-"]
        end

        content = redaction.body(content, request.headers["content-type"]) if redaction
        ["--data-raw", quoted(content)]
      end

      # @return [Boolean] whether curl makes the body itself, with a boundary of its own
      def form?(request)
        request.body.is_a?(Multipart) && request.headers["content-type"] == request.body.content_type
      end

      # In a shell, nothing within single quotes has a meaning but the quote itself.
      def quoted(string)
        shown = string.dup.force_encoding(Encoding::UTF_8).scrub
        return shown if shown.match?(%r{\A[\w./:-]+\z})

        "'#{shown.gsub("'", "'\\\\''")}'"
      end
    end
  end
end
