# frozen_string_literal: true

require_relative "base"

module Trunkline
  module XML
    # Writes the same bytes as Builder::XmlMarkup. `Builder.new` returns an instance of a subclass in C if that can
    # write the same; this class in Ruby is for subclasses, for options that C does not support, and for Rubies without
    # the extension.
    #
    # Only one thread at a time may use a builder, as with the String it writes to; several builders may be used at
    # once.
    class Builder < Base
      XML_DECLARATION = { version: "1.0", encoding: "UTF-8" }.freeze
      LEADING_ATTRIBUTES = %i[version encoding standalone].freeze
      private_constant :XML_DECLARATION, :LEADING_ATTRIBUTES

      class << self
        # @see #initialize
        # @return [Builder] a builder in C if that writes the same; the extension replaces this method
        def new(...)
          equal?(Builder) ? new_in_ruby(...) : super
        end

        private

        def new_in_ruby(options = {})
          return Strict.new(options) if options[:strict] || XML.strict?

          builder = allocate
          builder.__send__(:initialize, options)
          builder
        end
      end

      # @param options [Hash]
      # @option options [Integer] :indent (0) spaces for each level
      # @option options [Integer] :margin (0) the level to begin at
      # @option options [#<<] :target (a new String) a String, an IO, an Array, another builder, ...
      # @option options [Symbol] :quote (:double) or :single, around attribute values
      # @option options [Boolean] :explicit_nil_handling whether a nil argument writes nil="true"
      # @option options [Boolean] :strict refuses names and comments that would not be XML, see {Strict}
      def initialize(options = {})
        indent = options[:indent] || 0
        margin = options[:margin] || 0
        @quote = options[:quote] == :single ? "'" : '"'
        @explicit_nil_handling = options[:explicit_nil_handling]
        super(indent, margin)
        @target = options[:target] || "".dup
      end

      # @return [Object] the target, with all that was written
      def target!
        @target
      end

      # Writes `<!-- text -->`, unescaped.
      # @raise [IllegalBlockError]
      def comment!(text, &block)
        _ensure_no_block(block)
        _special("<!-- ", " -->", text, nil)
      end

      # Writes a declaration, `<!DOCTYPE html PUBLIC "-//W3C//DTD...">`. Symbols are written bare, Strings quoted, other
      # arguments ignored; a block writes the internal subset.
      def declare!(name, *args, &block)
        _indent
        @target << "<!#{name}"
        args.each do |arg|
          case arg
          when ::String then @target << " \"#{arg}\""
          when ::Symbol then @target << " #{arg}"
          end
        end
        if block
          @target << " ["
          _newline
          _nested_structures(block)
          @target << "]"
        end
        @target << ">"
        _newline
      end

      # Writes a processing instruction; without a name, or with :xml, the XML declaration, whose encoding then is the
      # encoding of the output.
      # @raise [IllegalBlockError]
      def instruct!(name = :xml, attributes = {}, &block)
        _ensure_no_block(block)
        if name == :xml
          attributes = XML_DECLARATION.merge(attributes)
          @encoding = attributes[:encoding].downcase
        end
        _special("<?#{name}", "?>", nil, attributes, LEADING_ATTRIBUTES)
      end

      # Writes a CDATA section; a `]]>` in the text is split between two sections.
      # @raise [IllegalBlockError]
      def cdata!(text, &block)
        _ensure_no_block(block)
        _special("<![CDATA[", "]]>", Escape.cdata(text), nil)
      end

      # Writes an element around a CDATA section.
      # @raise [IllegalBlockError]
      def cdata_value!(name, text, &block)
        _ensure_no_block(block)
        _special("<#{name}>", "</#{name}>", "<![CDATA[#{Escape.cdata(text)}]]>", nil)
      end

      private

      def _text(text)
        @target << text
      end

      def _special(open, close, data = nil, attributes = nil, order = [])
        _indent
        @target << open
        @target << data if data
        _insert_attributes(attributes, order) if attributes
        @target << close
        _newline
      end

      def _start_tag(name, attributes, end_too = false)
        @target << "<#{name}"
        _insert_attributes(attributes)
        @target << "/" if end_too
        @target << ">"
      end

      def _end_tag(name)
        @target << "</#{name}>"
      end

      def _insert_attributes(attributes, order = [])
        return if attributes.nil?

        order.each do |key|
          value = attributes[key]
          @target << " #{key}=#{@quote}#{_attr_value(value)}#{@quote}" if value
        end
        attributes.each do |key, value|
          @target << " #{key}=#{@quote}#{_attr_value(value)}#{@quote}" unless order.member?(key)
        end
      end

      def _attr_value(value)
        ::Symbol === value ? value.to_s : _escape_attribute(value.to_s)
      end

      def _ensure_no_block(block)
        ::Kernel.raise IllegalBlockError, "Blocks are not allowed on XML instructions" if block
      end
    end
  end
end
