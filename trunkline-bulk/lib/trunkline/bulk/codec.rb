# frozen_string_literal: true

require "json"
require "zlib"
require_relative "codec/references"
require_relative "errors"

module Trunkline
  class Bulk
    # Converts items to bytes for a State, and back: values of JSON, Symbols, binary Strings, and references to records.
    # Other objects are refused, so that a writer of the state cannot make its readers execute code.
    #
    # @api private
    module Codec
      ALLOWED = "an item is made of Strings, Symbols, numbers, true, false, nil, Arrays and Hashes, or is a record " \
                "of ActiveRecord, or with a GlobalID"

      class << self
        # @param items [Array]
        # @return [String] binary
        # @raise [InvalidItem]
        def dump(items, plain = plain?(items))
          items = items.map { |item| encode(item) } unless plain
          Zlib::Deflate.deflate(JSON.generate(items), Zlib::BEST_SPEED)
        end

        # @param bytes [String]
        # @return [Array] the items, with a Missing in place of each record that no longer exists
        def load(bytes)
          text = Zlib::Inflate.inflate(bytes)
          values = JSON.parse(text, max_nesting: 200)
          return values unless text.include?("{") || text.index("[", 1)

          records = References.locate(values)
          values.map { |value| decode(value, records) }
        end

        # Whether JSON.generate writes the items unchanged. One check of all of them is faster than a check of each.
        def plain?(items)
          return false unless items.all?(String)

          text = items.join("\n")
          text.encoding == Encoding::UTF_8 && text.valid_encoding?
        rescue EncodingError
          false
        end

        private

        def encode(value)
          case value
          when String then string(value)
          when Integer, true, false, nil then value
          when Float then value.finite? ? value : raise(InvalidItem, "#{ALLOWED}; got #{value}")
          when Symbol then { "_s" => value.name }
          when Array then value.map { |one| encode(one) }
          when Hash then value.to_h { |name, one| [key(name), encode(one)] }
          else record(value)
          end
        end

        def string(value)
          return value if value.encoding == Encoding::UTF_8 ? value.valid_encoding? : value.ascii_only?

          { "_b" => [value].pack("m0"), "_e" => value.encoding.name }
        end

        # Encodes a key of a Hash: ":" marks a Symbol; "=" escapes a String that would be decoded as something else.
        def key(name)
          case name
          when Symbol then ":#{name.name}"
          when String then name.start_with?(":", "=", "_") ? "=#{name}" : name
          else raise InvalidItem, "#{ALLOWED}; the keys of a Hash are Strings or Symbols, got a #{name.class}"
          end
        end

        def record(value)
          return { "_u" => [string(value.text), string(value.message)] } if value.is_a?(Unreadable)

          reference = References.of(value)
          return reference if reference
          return encode(value.to_h) if value.respond_to?(:to_h) && value.class.name.to_s.end_with?("::Row")

          raise InvalidItem, "#{ALLOWED}; got a #{value.class}"
        end

        def decode(value, records)
          case value
          when Array then value.map { |one| decode(one, records) }
          when Hash then hash(value, records)
          else value
          end
        end

        def hash(value, records)
          return value["_s"].to_sym if value.key?("_s")
          return value["_b"].unpack1("m0").force_encoding(value["_e"]) if value.key?("_b")
          return Unreadable.new(*value["_u"].map { |one| decode(one, records) }) if value.key?("_u")
          return records.fetch(value) { Missing.new(value) } if References.reference?(value)

          value.to_h { |name, one| [name_of(name), decode(one, records)] }
        end

        def name_of(key)
          return key[1..].to_sym if key.start_with?(":")

          key.delete_prefix("=")
        end
      end
    end
  end
end
