# frozen_string_literal: true

require_relative "errors"
require_relative "params"
require_relative "percent"

module Trunkline
  # Encodes params: and form: as application/x-www-form-urlencoded, nested values as Rack and Rails read them:
  # {a: {b: 1}, c: [2, 3]} is "a[b]=1&c[]=2&c[]=3" with the brackets encoded. Hashes are sorted by name, so that
  # the same values always give the same URL; an Array of pairs keeps its order.
  module Query
    module_function

    # @param params [Hash, Array<Array>, nil] values: String, Symbol, Numeric, true, false, nil (the bare name),
    #   Hash, Array, and objects with a to_s of their own
    # @param argument [String] the name of the option, for error messages
    # @return [String] "" for nil
    # @raise [InvalidRequest] for a value that cannot be encoded
    def encode(params, argument = "params")
      pairs = case params = Params.plain(argument, params)
              when nil then return ""
              when Hash then sorted(params)
              when Array then params
              else raise InvalidRequest.of(argument, params, "a Hash or an Array of pairs")
              end
      pairs.each_with_object([]) do |pair, parts|
        raise InvalidRequest.of(argument, pair, "a pair of name and value") unless pair.is_a?(Array) && pair.size == 2

        append(parts, Percent.form(text(pair.first, argument)), pair.last, argument)
      end.join("&")
    end

    # @return [Array<Array>] pairs sorted by name
    def sorted(hash)
      return hash.to_a if hash.size < 2

      Params.distinct(hash).sort_by { |name, _| name.to_s }
    end

    def append(parts, name, value, argument)
      case value = Params.plain(argument, value)
      when Hash
        sorted(value).each do |key, inner|
          append(parts, "#{name}%5B#{Percent.form(text(key, argument))}%5D", inner, argument)
        end
      when Array
        parts << "#{name}%5B%5D" if value.empty?
        value.each { |inner| append(parts, "#{name}%5B%5D", inner, argument) }
      when nil
        parts << name
      else
        parts << "#{name}=#{Percent.form(text(value, argument))}"
      end
    end

    # An object without a to_s of its own is refused: its text would be "#<File ...>".
    def text(value, argument)
      text = value.to_s
      return text if value.is_a?(String) || (text.is_a?(String) && !text.b.start_with?("#<"))

      file = argument == "form" && (value.respond_to?(:read) || value.respond_to?(:path))
      hint = " (files belong into multipart:)" if file
      raise InvalidRequest.of(argument, value, "made of Strings, Symbols, numbers and what has its own to_s#{hint}")
    end

    private_class_method :sorted, :append, :text
  end
end
