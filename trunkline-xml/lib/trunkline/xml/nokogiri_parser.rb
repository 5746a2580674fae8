# frozen_string_literal: true

require "nokogiri"
require_relative "shape"

module Trunkline
  module XML
    # The parser where the extension could not find libxml2: Nokogiri brings its own, or a Java one.
    # Documents that declare entities are refused, since Nokogiri would leave these out.
    class NokogiriParser
      # Hands on what Nokogiri's SAX parser reports.
      class Document < Nokogiri::XML::SAX::Document
        def initialize(max_depth, max_bytes)
          super()
          @shape = Shape.new
          @max_depth = max_depth
          @bytes_left = max_bytes
        end

        # @return [Hash]
        def result = @shape.result

        def start_element_namespace(name, attributes = [], _prefix = nil, _uri = nil, namespaces = [])
          raise ParseError.new("the document is too deep", nil, nil) if @shape.depth == @max_depth

          hash = namespaces.to_h { |prefix, uri| [["xmlns", prefix].compact.join(":"), uri.to_s] }
          attributes.each do |attribute|
            hash[[attribute.prefix, attribute.localname].compact.join(":")] = attribute.value
          end
          @shape.open(name, hash)
        end

        def end_element_namespace(_name, _prefix = nil, _uri = nil)
          @shape.close
        end

        def characters(string)
          @bytes_left -= string.bytesize
          raise ParseError.new("the document's text is larger than allowed", nil, nil) if @bytes_left.negative?

          @shape.text(string)
        end
        alias cdata_block characters

        def error(message)
          @error ||= message.strip
        end

        # @raise [ParseError] for the first error
        def check(line, column)
          raise ParseError.new("#{@error} (line #{line}, column #{column})", line, column) if @error
          raise ParseError.new("the document has no root element", line, column) if result.empty?
        end
      end
      # Nokogiri would take UTF-8 over what the XML declaration says.
      DECLARED = /\A(?:\xEF\xBB\xBF)?<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]+)/n
      private_constant :Document, :DECLARED

      def initialize(max_depth:, max_bytes:)
        @document = Document.new(max_depth, max_bytes)
      end

      # @param xml [String]
      # @param encoding [String, nil] of the bytes, whatever they declare
      # @return [Hash]
      def parse(xml, encoding)
        raise ParseError.new("declared entities are not read without libxml2", nil, nil) if xml.b.include?("<!ENTITY")

        context = nil
        encoding ||= xml.b[DECLARED, 1] || "UTF-8"
        Nokogiri::XML::SAX::Parser.new(@document, encoding).parse_memory(xml) do |parser|
          context = parser
          parser.replace_entities = true # else &amp; in an attribute comes as &#38;
        end
        @document.check(context.line, context.column)
        @document.result
      end
    end
  end
end
