# frozen_string_literal: true

require_relative "extension"
require_relative "strict"

module Trunkline
  # Writes XML as Builder::XmlMarkup does.
  module XML
    begin
      # TRUNKLINE_XML=ruby disables the extension, for comparison and for tests.
      require Extension.path("trunkline_xml") unless ENV["TRUNKLINE_XML"] == "ruby"
    rescue LoadError
      # Without the extension (no compiler at installation, JRuby, TruffleRuby), the Ruby class writes the same.
    end

    @strict = false
    @class_modified = false

    class << self
      # @return [Boolean] whether a builder is one in C, unless its options need the class in Ruby
      def native?
        Builder.const_defined?(:Native, false) && Builder::Native.enabled?
      end

      # @return [Boolean] whether every `Builder.new` is a {Strict} one
      def strict?
        @strict
      end

      # Makes every `Builder.new` a {Strict} one, for development and tests.
      # @param flag [Boolean]
      def strict=(flag)
        @strict = flag ? true : false
        update_native
      end

      # Called when methods were added to a class. If it is Base or Builder, all further builders are in Ruby, where the
      # added methods take effect.
      # @api private
      def class_modified!(modified)
        return unless [Base, Builder].include?(modified)

        @class_modified = true
        update_native
      end

      # Sets the class of Rails' output buffers in the extension, which then writes to the String inside such a buffer.
      # @api private
      def output_buffer_class=(buffer)
        Builder::Native.output_buffer_class = buffer if Builder.const_defined?(:Native, false)
      end

      private

      def update_native
        Builder::Native.enabled = !(@strict || @class_modified) if Builder.const_defined?(:Native, false)
      end
    end

    # Passes changes of switches and redefinitions to the extension.
    class Base
      class << self
        def cache_method_calls=(flag)
          @cache_method_calls = flag
          Builder::Native.caching = flag if equal?(Base) && Builder.const_defined?(:Native, false)
        end

        # A module or method that is added later must affect every builder.
        def include(*) = super.tap { XML.class_modified!(self) }
        def prepend(*) = super.tap { XML.class_modified!(self) }

        private

        def method_added(name)
          super
          XML.class_modified!(self)
        end
      end
    end
  end
end
