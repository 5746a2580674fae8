# frozen_string_literal: true

require "ipaddr"
require "json"
require "pathname"
require "time"
require_relative "errors"
require_relative "params"
require_relative "redacted"
require_relative "url"

module Trunkline
  # Encodes the values of the option json:. The json gem encodes Hashes, Arrays, Strings, numbers, true, false and nil.
  # For any other object, the first of these forms that it has is encoded:
  #
  #   as_json   the object's own, or the one that ActiveSupport defines for every object when it is loaded
  #   to_json   the object's own; the one that the json gem defines for every object would send "#<struct ...>"
  #   a String  times and dates in ISO 8601 (RFC 3339), as ActiveSupport writes them; BigDecimal, URIs, paths, addresses
  #   to_hash, to_ary, to_str, and Set as an Array
  #
  # An object without any of these is refused, and so is a Hash key that has only the default to_s ("#<struct ...>").
  #
  # @api private
  module JSONEncoding
    MAX_DEPTH = 100 # levels of nesting, the default of max_nesting in the json gem
    DIGITS = 3 # fractional digits of a second
    NATIVE = "Hash, Array, String, Symbol, Integer, Float, true, false or nil, or of what has to_json or as_json"
    # JSON text that is inserted unchanged. The json gem has this class since version 2.10.
    Fragment = defined?(JSON::Fragment) ? JSON::Fragment : Struct.new(:json) { def to_json(*) = json }
    # Returns whether JSON::Coder calls its block for Hash keys too. JSON::Coder exists since version 2.10 of the json
    # gem; its first versions called the block for values only.
    CALLS_BLOCK_FOR_KEYS = lambda do
      key_argument = nil
      JSON::Coder.new { |_, key = false| (key_argument = key).to_s }.dump({ Object => 1 }) if defined?(JSON::Coder)
      key_argument == true
    end
    CODER = if CALLS_BLOCK_FOR_KEYS.call
              JSON::Coder.new { |object, key = false| key ? JSONEncoding.key(object) : JSONEncoding.form(object) }
            end
    private_constant :MAX_DEPTH, :DIGITS, :NATIVE, :Fragment, :CALLS_BLOCK_FOR_KEYS, :CODER

    class << self
      # @param value [Object]
      # @return [String]
      # @raise [InvalidRequest] when the value cannot be encoded
      def generate(value)
        CODER ? CODER.dump(value) : generate_copy(value)
      rescue JSON::JSONError, EncodingError => error
        # No cause, because the json gem's error contains the whole value.
        raise InvalidRequest, "json: cannot be generated: #{error.message}", cause: nil
      end

      # Does the same as generate, without JSON::Coder.
      #
      # @return [String]
      def generate_copy(value)
        JSON.generate(copy(value, 0))
      end

      # @param object [Object] an object that the json gem cannot encode
      # @return [Object] one that it can encode, or a collection of elements that may need #form in turn
      # @raise [InvalidRequest] when the object has no form in JSON
      def form(object)
        case object
        when String then String.new(object).encode(Encoding::UTF_8)
        when ->(any) { Params.parameters?(any) } then {}.merge(Params.plain("json", object))
        when ->(any) { any.respond_to?(:as_json) } then converted(object, as_json(object))
        when Time, Date then object.is_a?(Time) || object.is_a?(DateTime) ? object.iso8601(DIGITS) : object.iso8601
        when ->(any) { own_to_json?(any) } then Fragment.new(object.to_json)
        else form_as_text(object) || form_as_collection(object) || refuse(object)
        end
      end

      # @param object [Object] a key of a Hash
      # @return [String]
      # @raise [InvalidRequest]
      def key(object)
        text = object.to_s
        # Set#to_s returns "Set[...]" in Ruby 4.0.
        return text.encode(Encoding::UTF_8) unless text.start_with?("#<") || (defined?(::Set) && object.is_a?(::Set))

        raise InvalidRequest, "json: a key of a Hash must be a String, a Symbol or what has its own to_s, got an " \
                              "instance of #{object.class}"
      end

      private

      def copy(value, depth)
        raise JSON::NestingError, "nesting of #{depth} is too deep" if depth > MAX_DEPTH
        return copy_of_hash(value, depth + 1) if value.instance_of?(Hash)
        return value.map { |one| copy(one, depth + 1) } if value.instance_of?(Array)

        native?(value) ? value : copy(form(value), depth + 1)
      end

      def copy_of_hash(hash, depth)
        hash.to_h { |name, value| [name.is_a?(String) ? name : key(name), copy(value, depth)] }
      end

      def native?(value)
        case value
        when nil, true, false, Integer, Symbol, Fragment then true
        when Float then value.finite?
        else value.instance_of?(String) || value.instance_of?(Hash) || value.instance_of?(Array)
        end
      end

      # ActiveSupport's as_json returns some objects unchanged, such as a Rational. JSON::Coder calls its block only
      # once per object, so such a form is converted further here.
      def converted(object, form)
        return form if native?(form)

        form.equal?(object) ? form_as_collection(object) || refuse(object) : form(form)
      end

      # The as_json of Redacted only names the class, so the object is refused.
      def as_json(object)
        object.is_a?(Redacted) && object.method(:as_json).owner.equal?(Redacted) ? refuse(object) : object.as_json
      end

      def own_to_json?(object)
        !object.method(:to_json).owner.name.to_s.start_with?("JSON::")
      rescue NameError # a delegator derived from BasicObject has no #method
        false
      end

      def form_as_text(object)
        return object.to_s("F") if defined?(::BigDecimal) && object.is_a?(::BigDecimal) && object.finite?

        object.to_s if URL.uri?(object) || object.is_a?(URL) || object.is_a?(Pathname) || object.is_a?(IPAddr)
      end

      def form_as_collection(object)
        return {}.merge(object.to_hash) if object.respond_to?(:to_hash)
        return [*object.to_ary] if object.respond_to?(:to_ary)
        return String.new(object.to_str) if object.respond_to?(:to_str)

        object.to_a if defined?(::Set) && object.is_a?(::Set)
      end

      def refuse(object)
        description = object.is_a?(Numeric) ? object.inspect : "an instance of #{object.class}"
        pairs = object.respond_to?(:to_h) && (object.is_a?(Struct) || !object.is_a?(Enumerable))
        hint = "; give its to_h" if pairs
        raise InvalidRequest, "json: must be made of #{NATIVE}, got #{description}#{hint}"
      end
    end
  end
end
