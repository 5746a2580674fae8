# frozen_string_literal: true

module Trunkline
  module XML
    # Builds the Hash of {Parser} from the events of a parser, element by element.
    class HashBuilder
      CONTENT = "__content__"

      # @return [Hash] the result of the events so far
      attr_reader :result

      def initialize
        @result = {}
        @elements = [Element.new(nil, @result)]
      end

      def depth = @elements.size - 1

      # @param attributes [Hash{String => String}]
      def open(name, attributes)
        @elements.push(Element.new(name, attributes))
      end

      def text(string)
        element = @elements.last
        (element.text ||= +"") << string if element.name
      end

      def close
        element = @elements.pop
        merge(element.content, CONTENT, element.text) if element.content?
        @elements.last.has_elements = true
        merge(@elements.last.content, element.name, element.content)
      end

      # An element whose end tag has not been read yet.
      Element = Struct.new(:name, :content, :text, :has_elements) do
        def content?
          text && !(has_elements && text.match?(Parser::BLANK))
        end
      end
      private_constant :Element

      private

      # Several values with the same name become an Array.
      def merge(hash, key, value)
        existing = hash[key]
        case existing
        when nil then hash[key] = value
        when Array then existing << value
        else hash[key] = [existing, value]
        end
      end
    end
  end
end
