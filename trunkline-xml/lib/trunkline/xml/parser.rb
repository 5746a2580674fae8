# frozen_string_literal: true

require_relative "extension"
require_relative "unicode"

module Trunkline
  module XML
    # Raised for XML that is not well-formed, or exceeds a limit. The message contains the position.
    class ParseError < StandardError
      # @return [Integer, nil] the position in the document, from 1
      attr_reader :line, :column

      # @api private
      def self.at(message, line, column)
        new("#{message} (line #{line}, column #{column})", line, column)
      end

      def initialize(message = nil, line = nil, column = nil)
        super(message)
        @line = line
        @column = column
      end
    end

    # Parses XML into the nested Hash that the default backend of ActiveSupport::XmlMini, REXML, returns. External
    # entities are never read, and entities that expand out of proportion are refused.
    module Parser
      # The maximum bytes of XML, and of text with its entities expanded.
      MAX_BYTES = 64 * 1024 * 1024
      MAX_DEPTH = 100
      # The maximum depth that libxml2 supports.
      DEEPEST = 256
      BLANK = /\A[[:space:]]*\z/

      begin
        require Extension.path("trunkline_xml_parser") unless ENV["TRUNKLINE_XML_PARSER"] == "nokogiri"
      rescue LoadError
        # libxml2 was not available at installation.
      end
      require_relative "nokogiri_parser" unless singleton_class.private_method_defined?(:parse_libxml2)

      class << self
        # @param data [String, #read, nil] nil, an empty String and an empty stream give an empty Hash
        # @param max_bytes [Integer] of the document
        # @param max_depth [Integer] of nested elements, up to {DEEPEST}
        # @return [Hash]
        # @raise [ParseError]
        # @raise [ArgumentError] for an invalid limit
        def parse(data, max_bytes: MAX_BYTES, max_depth: MAX_DEPTH)
          check_limit(:max_bytes, max_bytes)
          check_limit(:max_depth, max_depth)
          xml = data.respond_to?(:read) ? data.read(max_bytes + 1) : data
          return {} if xml.nil? || xml.empty?
          raise ParseError.at("the document is larger than #{max_bytes} bytes", 1, 1) if xml.bytesize > max_bytes

          bytes, encoding = readable(xml)
          bytes = bytes.b.freeze unless bytes.frozen?
          if respond_to?(:parse_libxml2, true)
            parse_libxml2(bytes, encoding, [max_depth, DEEPEST].min)
          else
            NokogiriParser.new(max_depth: [max_depth, DEEPEST].min, max_bytes: max_bytes).parse(bytes, encoding)
          end
        end

        private

        def check_limit(name, value)
          return if value.is_a?(Integer) && value.positive?

          raise ArgumentError, "#{name} must be a positive Integer, was #{value.inspect}"
        end

        # UTF-16 and UTF-32 are recognised by the String's encoding or the first bytes. Other documents declare their
        # encoding.
        def readable(xml)
          encoding = Unicode.encoding_of(xml)
          encoding ? [Unicode.utf8(xml, encoding), "UTF-8"] : [xml, nil]
        end
      end
    end
  end
end
