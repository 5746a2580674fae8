# frozen_string_literal: true

require "trunkline/xml"

begin
  require "builder"
rescue LoadError
  # Without the gem there is nothing to replace, and the names are ours to give.
  module Builder; end
end

module Trunkline
  module XML
    # Puts this library's classes in the place of the builder gem's: whoever says Builder::XmlMarkup from now on,
    # in templates, `to_xml` or a gem, gets the builder in C. Requiring this file does it.
    module DropIn
      REPLACEMENTS = {
        XmlBase: Base, XmlMarkup: XML::Builder, XmlEvents: Events, IllegalBlockError: IllegalBlockError
      }.freeze
      private_constant :REPLACEMENTS

      @originals = nil

      module_function

      # @return [Boolean] false when it had been done
      def install
        return false if installed?

        @originals = REPLACEMENTS.to_h { |name, replacement| [name, exchange(name, replacement)] }
        true
      end

      # Puts the builder gem's own classes back; builders that exist go on as they are.
      # @return [Boolean] false when there was nothing to undo
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

      # @return [Class, nil] what the name stood for
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
