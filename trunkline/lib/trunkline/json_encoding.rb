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
  # Encodes what callers give as json:. The json gem encodes Hashes, Arrays, Strings, numbers, true, false and nil. Any
  # other object is encoded in the first form that it has:
  #
  #   as_json   its own, or that of ActiveSupport, which gives one to every object when it is loaded
  #   to_json   its own; the one that the json gem gives to every object would send "#<struct ...>"
  #   a String  times and dates in ISO 8601 (RFC 3339), as ActiveSupport writes them; BigDecimal, URIs, paths, addresses
  #   to_hash, to_ary, to_str, and Set as an Array
  #
  # An object without any is refused, and so is a key of a Hash whose to_s only shows what it is ("#<struct ...>").
  #
  # @api private
  module JSONEncoding
    DEEPEST = 100 # as json's max_nesting
    DIGITS = 3 # of a second
    NATIVE = "Hash, Array, String, Symbol, Integer, Float, true, false or nil, or of what has to_json or as_json"
    # JSON text that is put in as it is. The json gem has such a class since its version 2.10.
    Fragment = defined?(JSON::Fragment) ? JSON::Fragment : Struct.new(:json) { def to_json(*) = json }
    # The json gem asks for the form of what it does not know since its version 2.10, and of keys not at once.
    ASKS = lambda do
      asked = nil
      JSON::Coder.new { |_, key = false| (asked = key).to_s }.dump({ Object => 1 }) if defined?(JSON::Coder)
      asked == true
    end
    CODER = if ASKS.call
              JSON::Coder.new { |object, key = false| key ? JSONEncoding.key(object) : JSONEncoding.form(object) }
            end
    private_constant :DEEPEST, :DIGITS, :NATIVE, :Fragment, :ASKS, :CODER

    class << self
      # @param value [Object]
      # @return [String]
      # @raise [InvalidRequest] when it has no form in JSON
      def generate(value)
        CODER ? CODER.dump(value) : generate_copy(value)
      rescue JSON::JSONError, EncodingError => error
        # Without its cause, which has the whole of what was given.
        raise InvalidRequest, "json: cannot be generated: #{error.message}", cause: nil
      end

      # As generate, without JSON::Coder.
      #
      # @return [String]
      def generate_copy(value)
        JSON.generate(copy(value, 0))
      end

      # @param object [Object] that is no JSON by itself
      # @return [Object] which is, or has elements to be asked about
      # @raise [InvalidRequest]
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
        # Ruby 4.0's Set shows itself as "Set[...]".
        return text.encode(Encoding::UTF_8) unless text.start_with?("#<") || (defined?(::Set) && object.is_a?(::Set))

        raise InvalidRequest, "json: a key of a Hash must be a String, a Symbol or what has its own to_s, got an " \
                              "instance of #{object.class}"
      end

      private

      def copy(value, depth)
        raise JSON::NestingError, "nesting of #{depth} is too deep" if depth > DEEPEST
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

      # ActiveSupport leaves some objects as they are, such as a Rational. The Coder asks once for each object.
      def converted(object, form)
        return form if native?(form)

        form.equal?(object) ? form_as_collection(object) || refuse(object) : form(form)
      end

      # That of Redacted is for people.
      def as_json(object)
        object.is_a?(Redacted) && object.method(:as_json).owner.equal?(Redacted) ? refuse(object) : object.as_json
      end

      def own_to_json?(object)
        !object.method(:to_json).owner.name.to_s.start_with?("JSON::")
      rescue NameError # a BasicObject's delegator
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
        what = object.is_a?(Numeric) ? object.inspect : "an instance of #{object.class}"
        pairs = object.respond_to?(:to_h) && (object.is_a?(Struct) || !object.is_a?(Enumerable))
        hint = "; give its to_h" if pairs
        raise InvalidRequest, "json: must be made of #{NATIVE}, got #{what}#{hint}"
      end
    end
  end
end
