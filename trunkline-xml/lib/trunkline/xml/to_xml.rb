# frozen_string_literal: true

require "trunkline/xml"
require "active_support"
require "active_support/core_ext/hash/conversions"
require "active_support/core_ext/array/conversions"

module Trunkline
  module XML # :nodoc:
    # Hash#to_xml and Array#to_xml, which write the same documents as Active Support's, in one pass. Names, types and
    # formats are still Active Support's (XmlMini.rename_key, TYPE_NAMES, FORMATTING), but there is no new options Hash
    # for each value. Unusual options and objects are left to the original method.
    class ToXml
      # The supported options; with any other, the original method writes.
      OPTIONS = %i[root indent builder skip_instruct skip_types dasherize camelize].freeze
      XmlMini = ActiveSupport::XmlMini
      TO_TAG = XmlMini.instance_method(:to_tag)
      RENAME_KEY = XmlMini.instance_method(:rename_key)
      NO_ATTRIBUTES = {}.freeze
      private_constant :OPTIONS, :XmlMini, :TO_TAG, :RENAME_KEY, :NO_ATTRIBUTES

      # Prepended to Hash and Array.
      module CoreExtension
        # @param options [Hash] as in Active Support
        # @return [String]
        def to_xml(options = {}, &block)
          return super unless ToXml.supported?(self, options)

          ToXml.new(options).document(self, &block)
        end
      end

      class << self
        # Whether the document can be written here: the options and the object are plain, and XmlMini's methods are not
        # redefined.
        def supported?(object, options)
          options.instance_of?(::Hash) && (options.keys - OPTIONS).empty? &&
            (options[:builder].nil? || Builder === options[:builder]) &&
            (object.instance_of?(::Hash) || object.instance_of?(::Array)) &&
            XmlMini.instance_method(:to_tag) == TO_TAG && XmlMini.instance_method(:rename_key) == RENAME_KEY
        end
      end

      def initialize(options)
        @options = options.dup
        @options[:indent] ||= 2
        @xml = @options[:builder] ||= Builder.new(indent: @options[:indent])
        @skip_types = @options[:skip_types]
        @tags = {}
        @singulars = {}
        @attributes = {}
      end

      # @return [Object] the builder's target
      def document(object, &block)
        @options[:root] ||= if object.instance_of?(::Hash)
                              "hash"
                            else
                              root_of(object)
                            end
        @xml.instruct! unless @options.delete(:skip_instruct)
        object.instance_of?(::Hash) ? hash(object, @options[:root], &block) : array(object, @options[:root], &block)
      end

      private

      def root_of(array)
        first = array.first.class
        return "objects" if first == ::Hash || !array.all?(first)

        ActiveSupport::Inflector.pluralize(ActiveSupport::Inflector.underscore(first.name)).tr("/", "_")
      end

      def hash(hash, root)
        @xml.tag!(tag(root)) do
          hash.each { |key, value| value(key, value) }
          yield @xml if block_given?
        end
      end

      def array(array, root)
        name = tag(root)
        attributes = @skip_types ? NO_ATTRIBUTES : attributes_for("array", false)
        return @xml.tag!(name, attributes) if array.empty?

        child = @singulars[name] ||= name.name.singularize
        @xml.tag!(name, attributes) do
          array.each { |value| value(child, value) }
          yield @xml if block_given?
        end
      end

      def value(key, value)
        if value.instance_of?(::Hash)
          hash(value, key)
        elsif value.instance_of?(::Array)
          array(value, key)
        elsif value.respond_to?(:to_xml) || ::Method === value || ::Proc === value
          XmlMini.to_tag(key, value, @options)
        else
          scalar(tag(key), value)
        end
      end

      def scalar(name, value)
        type = type_of(value)
        format = XmlMini::FORMATTING[type] unless value.nil?
        @xml.tag!(name, format ? format.call(value) : value, attributes_for(type, value.nil?))
      end

      def type_of(value)
        class_name = value.class.name
        type = XmlMini::TYPE_NAMES[class_name]
        type ||= class_name if value && !value.respond_to?(:to_str)
        type == "datetime" ? "dateTime" : type&.to_s
      end

      def attributes_for(type, empty)
        key = empty ? :nil : type
        @attributes.fetch(key) do
          attributes = @skip_types || type.nil? ? {} : { type: type }
          attributes[:nil] = true if empty
          encoding = XmlMini::DEFAULT_ENCODINGS[type]
          attributes[:encoding] = encoding if encoding
          @attributes[key] = attributes.freeze
        end
      end

      # The element's name as a Symbol: a String would have to be looked up for each element.
      def tag(key)
        @tags[key] ||= XmlMini.rename_key(key.to_s, @options).to_sym
      end
    end

    ::Hash.prepend(ToXml::CoreExtension)
    ::Array.prepend(ToXml::CoreExtension)
  end
end
