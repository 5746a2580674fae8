# frozen_string_literal: true

require "nokogiri"
require "strscan"
require_relative "hash_builder"

module Trunkline
  module XML
    # The parser for installations in which the extension could not find libxml2: Nokogiri brings a copy of it, or a
    # parser in Java. Documents that declare entities are refused, because Nokogiri would leave the entities out.
    class NokogiriParser
      # Passes the events of Nokogiri's SAX parser to a HashBuilder.
      class Document < Nokogiri::XML::SAX::Document
        # Nokogiri's parser context, which has the position; must be set before parsing.
        attr_writer :context

        def initialize(max_depth, max_bytes)
          super()
          @hash_builder = HashBuilder.new
          @max_depth = max_depth
          @bytes_left = max_bytes
        end

        # @return [Hash]
        def result = @hash_builder.result

        def start_element_namespace(name, attributes = [], _prefix = nil, _uri = nil, namespaces = [])
          refuse("the document is too deep") if @hash_builder.depth == @max_depth

          hash = namespaces.to_h { |prefix, uri| [["xmlns", prefix].compact.join(":"), uri.to_s] }
          attributes.each do |attribute|
            hash[[attribute.prefix, attribute.localname].compact.join(":")] = attribute.value
          end
          @hash_builder.open(name, hash)
        end

        def end_element_namespace(_name, _prefix = nil, _uri = nil)
          @hash_builder.close
        end

        def characters(string)
          @bytes_left -= string.bytesize
          refuse("the document's text is larger than allowed") if @bytes_left.negative?

          @hash_builder.text(string)
        end
        alias cdata_block characters

        def error(message)
          @error ||= message.strip
        end

        # @raise [ParseError] for the first error
        def check
          refuse(@error) if @error
          refuse("the document has no root element") if result.empty?
        end

        private

        def refuse(message)
          raise ParseError.at(message, @context.line, @context.column)
        end
      end

      # Removes declarations from the internal subset of a document's DTD.
      module Subset
        # Patterns for the text before the internal subset, and for its parts.
        PROLOG = /\s+|<\?.*?\?>|<!--.*?-->/mn
        DOCTYPE = /<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*+\[/n
        TOKEN = /<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|[^\]<"']+|<(?!!--|\?|!ATTLIST)/mn
        ENTITY = /<!ENTITY/n
        ATTLIST = /<!ATTLIST(?:[^>"']|"[^"]*"|'[^']*')*+>/n
        private_constant :PROLOG, :DOCTYPE, :TOKEN, :ENTITY, :ATTLIST

        module_function

        # Nokogiri would report attributes that are declared with defaults as if they were in the document.
        # @param xml [String] bytes
        # @return [String] xml, with blanks in place of attribute declarations
        # @raise [ParseError] at the first declared entity
        def without_declarations(xml)
          scanner = StringScanner.new(xml)
          scanner.skip(/\xEF\xBB\xBF/n)
          nil while scanner.skip(PROLOG)
          return xml unless scanner.skip(DOCTYPE)

          without_attributes(scanner, xml)
        end

        # Stops at the end of the subset, or at a part without an end, for which Nokogiri refuses the document.
        def without_attributes(scanner, xml)
          result = xml.dup
          loop do
            at = scanner.pos
            refuse_entity(xml, at) if scanner.match?(ENTITY)
            if (size = scanner.skip(ATTLIST))
              result[at, size] = result[at, size].gsub(/[^\n]/n, " ")
            elsif !scanner.skip(TOKEN)
              return result
            end
          end
        end

        def refuse_entity(xml, offset)
          raise ParseError.at("declared entities are not read without libxml2", *Unicode.position(xml, offset))
        end
        private_class_method :without_attributes, :refuse_entity
      end

      # The encoding in the XML declaration is passed to Nokogiri, which would use UTF-8 instead.
      DECLARED = /\A(?:\xEF\xBB\xBF)?<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]+)/n
      private_constant :Document, :Subset, :DECLARED

      def initialize(max_depth:, max_bytes:)
        @document = Document.new(max_depth, max_bytes)
      end

      # @param xml [String]
      # @param encoding [String, nil] of the bytes; overrides the XML declaration
      # @return [Hash]
      # @raise [ParseError]
      def parse(xml, encoding)
        raise ParseError.at("the document is empty", 1, 1) if xml.empty?

        xml = Subset.without_declarations(xml.b)
        encoding ||= xml[DECLARED, 1] || "UTF-8"
        Nokogiri::XML::SAX::Parser.new(@document, encoding).parse_memory(xml) do |context|
          @document.context = context
          context.replace_entities = true # otherwise Nokogiri reports &amp; in an attribute as &#38;
        end
        @document.check
        @document.result
      rescue ArgumentError => error
        raise unless error.message.include?("encoding") # Nokogiri does not know the encoding

        raise ParseError.at(error.message, 1, 1)
      end
    end
  end
end
