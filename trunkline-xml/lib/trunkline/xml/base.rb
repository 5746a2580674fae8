# frozen_string_literal: true

require_relative "arguments"
require_relative "escape"

module Trunkline
  module XML
    # Raised when a block is given to an instruction that cannot have one (a comment, a CDATA section, a PI).
    class IllegalBlockError < RuntimeError; end

    # Writes tags, text and indentation; a subclass defines the target. Every method name is a tag, so this class
    # inherits from BasicObject, and methods that are not tags end in `!` or begin with `_`.
    #
    # The private methods and the instance variables (@target, @indent, @level, @encoding, @quote) are an interface
    # for subclasses: each piece of output goes through them, and a subclass may redefine any of them. They are exactly
    # those of Builder::XmlBase and its subclasses. Other helpers are functions of {Arguments} and {Escape}: as methods
    # here they could collide with a helper of a subclass.
    class Base < BasicObject
      # A Regexp, as in Builder: it raises for an empty value in UTF-16, and a String would not.
      QUOTATION_MARK = /"/
      private_constant :QUOTATION_MARK

      class << self
        # @return [Boolean] whether a builder defines a singleton method for each tag that it has written (true by
        #   default); only the value on Base itself counts
        attr_reader :cache_method_calls
      end
      @cache_method_calls = true

      # @param indent [Integer] spaces for each level; 0 writes all on one line
      # @param initial [Integer] the level to begin at
      # @param encoding [String] of the output
      def initialize(indent = 0, initial = 0, encoding = "utf-8")
        @indent = indent
        @level = initial
        @encoding = encoding.downcase
      end

      # @return [Object] the option's value: whether a nil argument writes the attribute nil="true"
      def explicit_nil_handling?
        @explicit_nil_handling
      end

      # Writes an element. Texts are joined, Hashes are attributes, a Symbol in the first place makes the name a
      # prefix: `tag!(:soap, :Body)` is `<soap:Body/>`.
      # @param name [Symbol, String]
      # @yieldparam builder [Base] this builder, for the contents of the element
      # @return [Object] the target
      # @raise [ArgumentError] when there is a text and a block
      def tag!(name, *args, &block)
        name = "#{name}:#{args.shift}" if ::Symbol === args.first
        name = name.to_sym unless ::Symbol === name
        text, attributes = Arguments.gather(args) { explicit_nil_handling? }
        ::Kernel.raise ::ArgumentError, "XmlMarkup cannot mix a text argument with a block" if block && text

        _indent
        if block
          _start_tag(name, attributes)
          _newline
          begin
            _nested_structures(block)
          ensure
            _indent
            _end_tag(name)
            _newline
          end
        elsif text
          _start_tag(name, attributes)
          text!(text)
          _end_tag(name)
          _newline
        else
          _start_tag(name, attributes, true)
          _newline
        end
        @target
      end

      def method_missing(name, ...)
        cache_method_call(name) if Base.cache_method_calls
        tag!(name, ...)
      end

      # Writes text, escaped.
      # @param text [String]
      # @return [Object] what the target's `<<` returns
      def text!(text)
        _text(_escape(text))
      end

      # Writes markup without escaping it.
      # @return [Object] what the target's `<<` returns
      def <<(markup)
        _text(markup)
      end

      # @return [false] always; nil? writes no tag
      def nil?
        false
      end

      private

      # If Ruby does not know the encoding, or the encoding lacks a character, all characters outside of ASCII become
      # numeric character references.
      def _escape(text)
        utf8 = Escape.text(text)
        begin
          encoding = ::Encoding.find(@encoding)
          return utf8.encode(encoding) unless encoding.dummy?
        rescue ::StandardError
          # References are written below.
        end
        utf8.gsub(/[^\u0000-\u007f]/) { |character| "&##{character.ord};" }.force_encoding(::Encoding::US_ASCII)
      end

      def _escape_attribute(text)
        _escape(text).gsub("\n", "&#10;").gsub("\r", "&#13;").gsub(QUOTATION_MARK, "&quot;")
      end

      def _newline
        text!("\n") unless @indent == 0 # rubocop:disable Style/NumericPredicate -- the caller may give any object
      end

      def _indent
        text!(" " * (@level * @indent)) unless @indent == 0 || @level == 0 # rubocop:disable Style/NumericPredicate
      end

      def _nested_structures(block)
        @level += 1
        block.call(self)
      ensure
        @level -= 1
      end

      # Does not replace private methods of Builder, which write the tag themselves.
      def cache_method_call(name)
        return if Builder.private_method_defined?(name)

        (class << self; self; end).class_eval do
          define_method(name) { |*args, &block| tag!(name, *args, &block) } unless method_defined?(name)
        end
      end
    end
  end
end
