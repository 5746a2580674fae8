# frozen_string_literal: true

require "json"
require_relative "../../bytes_as_text"
require_relative "freshness"
require_relative "stored_response"
require_relative "variants"

module Trunkline
  module Policy
    class Cache
      # Serialises stored responses as bytes that any store can hold:
      #
      #   trunkline cache 1
      #   {"facts":[...],"head":<bytes of the head>,"body":<bytes of the body>}
      #   <head><body>
      #
      # or, for a list of fields that a response varies by, {"vary":[...],"token":"..."}. Loading creates only Strings,
      # numbers and these objects. Bytes in any other format or version count as not stored.
      module StoreFormat
        MAGIC = "trunkline cache 1\n"
        HEAD = %r{\AHTTP/1\.1 \d{3} [^\r\n]*\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\r\n]*\r\n)*\z}n
        private_constant :MAGIC, :HEAD

        module_function

        # @param value [StoredResponse, Variants]
        # @return [String] bytes
        def dump(value)
          return dump_variants(value) if value.is_a?(Variants)

          facts = value.freshness.to_a.map { |fact| fact.is_a?(String) ? BytesAsText.text(fact) : fact }
          JSON.generate(facts: facts, head: value.head.bytesize, body: value.body.bytesize)
            .b.prepend(MAGIC) << "\n" << value.head << value.body
        end

        # @param bytes [Object] as the store returned it
        # @return [StoredResponse, Variants, nil]
        def load(bytes)
          return unless bytes.is_a?(String)

          bytes = bytes.b
          stop = bytes.index("\n", MAGIC.bytesize) if bytes.start_with?(MAGIC)
          return unless stop

          about = JSON.parse(bytes[MAGIC.bytesize...stop])
          about.key?("vary") ? variants(about) : stored_response(about, bytes, stop + 1)
        rescue JSON::ParserError, EncodingError, ArgumentError, TypeError, NoMethodError
          nil # the bytes were not written by #dump
        end

        def stored_response(about, bytes, start)
          head, body = about.values_at("head", "body")
          return unless head + body == bytes.bytesize - start

          facts = about["facts"].map { |fact| fact.is_a?(String) ? BytesAsText.bytes(fact) : fact }
          freshness = Freshness.new(*facts)
          lines = bytes.byteslice(start, head)
          return unless freshness.valid_types? && HEAD.match?(lines)

          StoredResponse.new(lines, bytes.byteslice(start + head, body), freshness)
        end

        def dump_variants(value)
          names = value.names.map { |name| BytesAsText.text(name) }
          "#{MAGIC}#{JSON.generate(vary: names, token: value.token)}\n".b
        end

        def variants(about)
          names, token = about.values_at("vary", "token")
          Variants.new(names.map { |name| BytesAsText.bytes(name) }, token) if token.is_a?(String)
        end

        private_class_method :stored_response, :variants, :dump_variants
      end
    end
  end
end
