# frozen_string_literal: true

require_relative "extension"
require_relative "strict"

module Trunkline
  # XML written as Builder::XmlMarkup writes it.
  module XML
    begin
      # TRUNKLINE_XML=ruby keeps the extension out, for comparing and for tests.
      require Extension.path("trunkline_xml") unless ENV["TRUNKLINE_XML"] == "ruby"
    rescue LoadError
      # No compiler at installation, JRuby, TruffleRuby: the Ruby class writes the same.
    end

    @strict = false
    @reopened = false

    class << self
      # @return [Boolean] whether a builder without odd options is one in C
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
        choose
      end

      # Called when others have added methods to a class: where that is Builder's, builders are from then on in Ruby,
      # where the methods count.
      # @api private
      def reopened!(changed)
        return unless [Base, Builder].include?(changed)

        @reopened = true
        choose
      end

      # Tells the extension whose instances stand for Rails' output buffer, so that it writes to the String below.
      # @api private
      def output_buffer_class=(buffer)
        Builder::Native.output_buffer_class = buffer if Builder.const_defined?(:Native, false)
      end

      private

      def choose
        Builder::Native.enabled = !(@strict || @reopened) if Builder.const_defined?(:Native, false)
      end
    end

    # The part that tells the extension what was switched or redefined.
    class Base
      class << self
        def cache_method_calls=(flag)
          @cache_method_calls = flag
          Builder::Native.learning = flag if equal?(Base) && Builder.const_defined?(:Native, false)
        end

        # A module or method that comes later is meant for every builder.
        def include(*) = super.tap { XML.reopened!(self) }
        def prepend(*) = super.tap { XML.reopened!(self) }

        private

        def method_added(name)
          super
          XML.reopened!(self)
        end
      end
    end
  end
end
