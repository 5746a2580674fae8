# frozen_string_literal: true

require_relative "multipart"
require_relative "redaction"
require_relative "curl_command/connection"
require_relative "curl_command/form"

module Trunkline
  # Converts a Request to a curl command for a shell.
  #
  # @api private
  module CurlCommand
    # Fields that curl adds by itself, with the same values.
    ADDED_BY_CURL = %w[host content-length transfer-encoding accept-encoding expect].freeze

    class << self
      # @param request [Request]
      # @param redaction [Redaction, nil] hides values that are credentials by their names; nil shows everything
      # @return [String]
      def of(request, redaction = nil)
        parts = ["curl", *method_option(request)]
        parts.concat(fields(request, redaction))
        parts << "--compressed" if request.headers.key?("accept-encoding")
        parts.concat(connection(request, redaction)) if request.builder
        url = redaction ? redaction.url(request.url) : request.url
        [*parts, *body(request, redaction), "--globoff", quoted(url)].join(" ")
      end

      # @param string [String]
      # @return [String, nil] in UTF-8; nil when the bytes are not text that a command line can hold
      def text(string)
        text = string.dup.force_encoding(Encoding::UTF_8)
        text if text.valid_encoding? && !text.include?("\0")
      end

      # @param source [Object] body of a request
      # @return [String, nil] absolute path of the file that source stands for; nil when it is not a file
      def path(source)
        path = source.to_path if source.respond_to?(:to_path)
        File.expand_path(path) if path.is_a?(String) && File.file?(path)
      end

      private

      def connection(request, redaction)
        Connection.new(request, secrets: redaction.nil?).arguments.map { |one| quoted(one) }
      end

      def method_option(request)
        name = request.method
        return ["--head"] if name == "HEAD"

        name == "GET" && !request.content? ? [] : ["--request", quoted(name)]
      end

      def fields(request, redaction)
        headers = request.headers
        removed = ["User-Agent", "Accept", *("Content-Type" if request.content?)].reject { |name| headers.key?(name) }
        # curl sends no Content-Length for a request without content.
        empty = ["--header", "'Content-Length: 0'"] if !request.content? && headers.key?("Content-Length")
        headers = headers.reject { |name, _| name.casecmp?("content-type") } if form?(request)
        [*header_options(headers, redaction), *empty, *removed.flat_map { |name| ["--header", "#{name}:"] }]
      end

      def header_options(headers, redaction)
        headers.reject { |name, _| ADDED_BY_CURL.include?(name.downcase) }.flat_map do |name, value|
          value = Redaction::HIDDEN if redaction&.hides?(name)
          ["--header", quoted(value.empty? ? "#{name};" : "#{name}: #{value}")]
        end
      end

      # A body that is neither text nor a file is expected on the standard input of the command.
      def body(request, redaction)
        return [] unless request.content?
        return Form.new(request.body, redaction).arguments.map { |one| quoted(one) } if form?(request)

        content = request.content
        content = content.is_a?(String) ? text(content) : nil
        if content.nil?
          path = path(request.body)
          complete_file = path && File.size(path) == request.content_length
          return ["--data-binary", complete_file ? quoted("@#{path}") : "@-"]
        end

        content = redaction.body(content, request.headers["content-type"]) if redaction
        ["--data-raw", quoted(content)]
      end

      # @return [Boolean] whether curl composes the body itself, with its own boundary
      def form?(request)
        request.body.is_a?(Multipart) && request.headers["content-type"] == request.body.content_type
      end

      # Within single quotes, a shell interprets no character but the quote.
      def quoted(string)
        text = string.dup.force_encoding(Encoding::UTF_8).scrub
        return text if text.match?(%r{\A[\w./:-]+\z})

        "'#{text.gsub("'", "'\\\\''")}'"
      end
    end
  end
end
