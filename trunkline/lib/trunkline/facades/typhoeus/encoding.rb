# frozen_string_literal: true

require "pathname"
require_relative "../../part"
require_relative "../../percent"

module Trunkline
  module Facades
    module Typhoeus
      # Encodes params and bodies to the same bytes as Ethon.
      module Encoding
        # The name of an Array's element, by params_encoding.
        ELEMENT = {
          rack: ->(name, _) { "#{name}[]" },
          multi: ->(name, _) { name }
        }.freeze
        INDEXED = ->(name, index) { "#{name}[#{index}]" }
        private_constant :ELEMENT, :INDEXED

        module_function

        # @param base [String]
        # @param options [Hash] a request's options
        # @return [String] base with params:
        def url(base, options)
          params = options[:params]
          return base if params.nil? || params.empty? || base.empty?

          query = form(params, options)
          return base if query.empty?

          front, hash, fragment = base.partition("#")
          path, mark, existing = front.partition("?")
          separator = mark.empty? || existing.empty? ? "" : "&"
          "#{path}?#{existing}#{separator}#{query}#{hash}#{fragment}"
        end

        # @param values [Hash, Array, String, nil] a String is returned as it is
        # @return [String]
        def form(values, options)
          return values if values.is_a?(String)

          plain = options.key?(:escape) && options[:escape] == false
          pairs(values, options).map do |name, value|
            value = file_like?(value) ? file_info(value) : value.to_s
            plain ? "#{name}=#{value}" : "#{Percent.component(name.to_s)}=#{Percent.component(value)}"
          end.join("&")
        end

        # @return [Boolean] whether value contains a file
        def file?(value)
          case value
          when Hash then value.each_value.any? { |one| file?(one) }
          when Array then value.any? { |one| file?(one) }
          else file_like?(value)
          end
        end

        # @return [Array<Array(String, Object)>] the multipart: option of a call
        # @raise [InvalidRequest]
        def parts(values, options)
          raise InvalidRequest.of("body", values, "a Hash of fields, to be sent as multipart") unless values.is_a?(Hash)

          pairs(values, options).map do |name, value|
            [name.to_s, file_like?(value) ? Part.new(Pathname.new(value.path)) : value.to_s]
          end
        end

        def pairs(values, options)
          encoding = options[:params_encoding]
          gathered = []
          case values
          when Hash then values.each_pair { |name, value| gather(gathered, name, value, encoding) }
          when Array then gather(gathered, nil, values, encoding)
          end
          gathered
        end

        def gather(gathered, name, value, encoding)
          case value
          when Hash
            value.each_pair { |key, inner| gather(gathered, name.nil? ? key : "#{name}[#{key}]", inner, encoding) }
          when Array
            return gathered << [name, value] if encoding == :none

            element = ELEMENT.fetch(encoding, INDEXED)
            value.each_with_index { |inner, index| gather(gathered, element.call(name, index), inner, encoding) }
          else
            gathered << [name, value]
          end
        end

        def file_like?(value)
          value.is_a?(File) || (defined?(Tempfile) && value.is_a?(Tempfile))
        end

        # The text that Ethon writes for a file outside of a multipart body.
        def file_info(file)
          name = File.basename(file.path)
          [name, Part.type_of(name), File.expand_path(file.path)].to_s
        end

        private_class_method :pairs, :gather, :file_like?, :file_info
      end
    end
  end
end
