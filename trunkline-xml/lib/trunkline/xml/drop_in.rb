# frozen_string_literal: true

require "trunkline/xml"

begin
  require "builder"
rescue LoadError
  # Without the gem there is nothing to replace, and the constants are defined here.
  module Builder; end
end

module Trunkline
  module XML
    # Replaces the builder gem's classes with this library's: from then on, templates, `to_xml` and gems that use
    # Builder::XmlMarkup get the builder in C. Requiring this file does that.
    module DropIn
      REPLACEMENTS = {
        XmlBase: Base, XmlMarkup: XML::Builder, XmlEvents: Events, IllegalBlockError: IllegalBlockError
      }.freeze
      private_constant :REPLACEMENTS

      @originals = nil

      module_function

      # @return [Boolean] false if it was installed already
      def install
        return false if installed?

        @originals = REPLACEMENTS.to_h { |name, replacement| [name, exchange(name, replacement)] }
        true
      end

      # Restores the builder gem's own classes. Existing builders are not affected.
      # @return [Boolean] false if it was not installed
      def undo
        return false unless installed?

        @originals.each { |name, original| exchange(name, original) }
        @originals = nil
        true
      end

      # @return [Boolean]
      def installed?
        !@originals.nil?
      end

      # @return [Class, nil] the previous value of the constant
      def exchange(name, replacement)
        original = ::Builder.const_get(name, false) if ::Builder.const_defined?(name, false)
        ::Builder.__send__(:remove_const, name) if original
        ::Builder.const_set(name, replacement) if replacement
        original
      end
      private_class_method :exchange

      install
    end
  end
end
