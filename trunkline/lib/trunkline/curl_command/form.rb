# frozen_string_literal: true

require_relative "../redacted"
require_relative "../redaction"

module Trunkline
  module CurlCommand
    # Converts a Multipart to curl arguments; curl makes its own boundary. A part that is neither text nor a file is to
    # be passed on the command's standard input.
    #
    # @api private
    class Form
      include Redacted

      # @param multipart [Multipart]
      # @param redaction [Redaction, nil] nil to hide nothing
      def initialize(multipart, redaction)
        @multipart = multipart
        @redaction = redaction
      end

      # @return [Array<String>] not quoted
      def arguments = @multipart.parts.flat_map { |name, part| part_arguments(name, part) }

      private

      def part_arguments(name, part)
        name = readable(name)
        text = @redaction&.hides?(name) ? Redaction::HIDDEN : text(part.body)
        attributes = attributes(part)
        return ["--form-string", "#{name}=#{text}"] if text && attributes.empty?

        ["--form", "#{name}=#{[text ? quoted(text) : "@#{file(part)}", *attributes].join}"]
      end

      # Without `filename=""`, curl would send the name of the file for a part that has no filename.
      def file(part)
        path = CurlCommand.path(part.body)
        "#{path ? quoted(path) : "-"}#{";filename=\"\"" unless part.filename}"
      end

      # @return [String, nil]
      def text(body)
        return unless body.is_a?(String)

        text = CurlCommand.text(body) or return
        @redaction ? @redaction.body(text, nil) : text
      end

      def attributes(part)
        headers = part.headers.map do |field, value|
          ";headers=#{quoted("#{field}: #{@redaction&.hides?(field) ? Redaction::HIDDEN : readable(value)}")}"
        end
        filename = part.filename && ";filename=#{quoted(readable(part.filename))}"
        type = part.content_type && ";type=#{part.content_type}"
        [filename, type, *headers].compact
      end

      # A command is UTF-8: what is in another encoding is converted, and what is broken is replaced.
      def readable(text)
        return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding == Encoding::BINARY

        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
      end

      def quoted(text) = "\"#{text.gsub(/["\\]/) { |one| "\\#{one}" }}\""
    end
  end
end
