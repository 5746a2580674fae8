# frozen_string_literal: true

require "json"
require_relative "freshness"
require_relative "stored_answer"
require_relative "variants"

module Trunkline
  module Policy
    class Cache
      # What is kept, as the bytes that any store can hold:
      #
      #   trunkline cache 1
      #   {"facts":[...],"head":<bytes of the head>,"body":<bytes of the body>}
      #   <head><body>
      #
      # or, for a list of fields that an answer varies by, {"vary":[...],"token":"..."}. Reading it makes nothing but
      # Strings, numbers and these objects; what is not exactly this counts as nothing, and so does another version.
      module StoreFormat
        MAGIC = "trunkline cache 1\n"
        LATIN = Encoding::ISO_8859_1
        HEAD = %r{\AHTTP/1\.1 \d{3} [^\r\n]*\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\r\n]*\r\n)*\z}n
        private_constant :MAGIC, :LATIN, :HEAD

        module_function

        # @param value [StoredAnswer, Variants]
        # @return [String] bytes
        def dump(value)
          return "#{MAGIC}#{JSON.generate(vary: value.names, token: value.token)}\n".b if value.is_a?(Variants)

          facts = value.freshness.to_a.map { |fact| fact.is_a?(String) ? text(fact) : fact }
          JSON.generate(facts: facts, head: value.head.bytesize, body: value.body.bytesize)
            .b.prepend(MAGIC) << "\n" << value.head << value.body
        end

        # @param bytes [Object] what a store has returned
        # @return [StoredAnswer, Variants, nil]
        def load(bytes)
          return unless bytes.is_a?(String)

          bytes = bytes.b
          stop = bytes.index("\n", MAGIC.bytesize) if bytes.start_with?(MAGIC)
          return unless stop

          about = JSON.parse(bytes[MAGIC.bytesize...stop])
          about.key?("vary") ? variants(about) : answer(about, bytes, stop + 1)
        rescue JSON::ParserError, EncodingError, ArgumentError, TypeError, NoMethodError
          nil # it was not written here
        end

        def answer(about, bytes, start)
          head, body = about.values_at("head", "body")
          return unless head + body == bytes.bytesize - start

          facts = about["facts"].map { |fact| fact.is_a?(String) ? bytes_of(fact) : fact }
          freshness = Freshness.new(*facts)
          lines = bytes.byteslice(start, head)
          return unless freshness.sound? && HEAD.match?(lines)

          StoredAnswer.new(lines, bytes.byteslice(start + head, body), freshness)
        end

        def variants(about)
          names, token = about.values_at("vary", "token")
          Variants.new(names, token) if names.all?(String) && token.is_a?(String)
        end

        # JSON is UTF-8, a field's value may be any bytes.
        def text(bytes) = bytes.dup.force_encoding(LATIN).encode(Encoding::UTF_8)

        def bytes_of(text) = text.encode(LATIN).b

        private_class_method :answer, :variants, :text, :bytes_of
      end
    end
  end
end
