# frozen_string_literal: true

require_relative "frame"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # Compresses the headers of requests (RFC 7541).
        class HeaderEncoder
          include Redacted

          # What must not be indexed, where the size of other requests would betray it (RFC 7541 7.1).
          SECRET = %w[authorization cookie proxy-authorization].freeze
          private_constant :SECRET

          def initialize
            @compressor = ::HTTP2::Header::Compressor.new(::HTTP2::Settings.new(huffman: :never))
          end

          # @param bytes [Integer] as the server's SETTINGS say
          def table_size=(bytes)
            @compressor.max_table_size = bytes
          end

          # @param fields [Array<Array(String, String)>] with pseudo-headers first
          # @return [String] a header block
          def encode(fields)
            secret, usual = fields.partition { |name, _| SECRET.include?(name) }
            block = @compressor.encode(usual)
            secret.each { |name, value| @compressor.header({ type: :neverindexed, name: name, value: value }, block) }
            block
          end
        end

        # Takes header blocks of a server apart (RFC 7541). The representations are read here, within bounds; the gem
        # has the tables.
        class HeaderDecoder
          include Redacted

          # A longer name or value ends the connection.
          TEXT_BYTES = 65_536
          private_constant :TEXT_BYTES

          def initialize
            @table = ::HTTP2::Header::EncodingContext.new
          end

          # All of a block must be decoded, for the tables' sake.
          #
          # @yieldparam name [String] frozen
          # @yieldparam value [String] frozen
          # @raise [Violation]
          def decode(block, &field)
            @block = block
            @at = 0
            @table.listen_on_table { take_representation(&field) while @at < block.bytesize }
          rescue ::HTTP2::Error::Error => error
            raise corrupt(error.message)
          ensure
            @block = nil
          end

          private

          # RFC 7541 6.
          def take_representation(&field)
            byte = @block.getbyte(@at)
            if byte >= 0x80 then indexed(&field)
            elsif byte >= 0x40 then literal(:incremental, 6, &field)
            elsif byte >= 0x20 then @table.process({ type: :changetablesize, value: integer(5) })
            else literal(:noindex, 4, &field)
            end
          end

          def indexed
            index = integer(7)
            raise corrupt("index 0") if index.zero?

            yield(*entry(@table.process({ type: :indexed, name: index - 1 })))
          end

          # A name with capitals, which the gem does not take, is malformed anyway: the field is refused with it.
          def literal(type, prefix)
            index = integer(prefix)
            name = index.zero? ? text : index - 1
            value = text
            capitals = name.is_a?(String) && name.match?(/[A-Z]/n)
            found = entry(@table.process({ type: type, name: capitals ? name.downcase.freeze : name, value: value }))
            yield(capitals ? name : found.first, value)
          end

          # The static table's are UTF-8.
          def entry(pair)
            name, value = pair
            [ascii(name), ascii(value)]
          end

          def ascii(text)
            text.encoding == Encoding::UTF_8 ? text.dup.force_encoding(Encoding::US_ASCII).freeze : text
          end

          # RFC 7541 5.1.
          def integer(prefix)
            most = (1 << prefix) - 1
            value = @block.getbyte(@at) & most
            @at += 1
            value < most ? value : value + rest_of_integer
          end

          def rest_of_integer
            value = shift = 0
            loop do
              byte = @block.getbyte(@at) or raise corrupt("an integer is cut")
              @at += 1
              value |= (byte & 0x7f) << shift
              return value if byte < 0x80
              raise corrupt("an integer is too large") if (shift += 7) > 28
            end
          end

          # RFC 7541 5.2.
          def text
            coded = (@block.getbyte(@at) || raise(corrupt("a field is cut"))) >= 0x80
            length = integer(7)
            raise corrupt("a field is too large") if length > TEXT_BYTES
            raise corrupt("a field is cut") if length > @block.bytesize - @at

            bytes = @block.byteslice(@at, length)
            @at += length
            bytes = ::HTTP2::Header::Huffman.decode(bytes) if coded
            raise corrupt("a field is too large") if bytes.bytesize > TEXT_BYTES

            FieldSection.text(bytes.force_encoding(Encoding::BINARY))
          end

          def corrupt(words) = Violation.new(:HTTP2_PROTOCOL, :COMPRESSION_ERROR, "HPACK: #{words}")
        end
      end
    end
  end
end
