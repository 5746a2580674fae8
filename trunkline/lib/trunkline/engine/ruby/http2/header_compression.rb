# frozen_string_literal: true

require_relative "frame"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # Compresses the header fields of requests (RFC 7541).
        class HeaderEncoder
          include Redacted

          # Fields that must not be indexed, since the size of other requests would reveal their values (RFC 7541 7.1).
          SENSITIVE = %w[authorization cookie proxy-authorization].freeze
          private_constant :SENSITIVE

          def initialize
            @compressor = ::HTTP2::Header::Compressor.new(::HTTP2::Settings.new(huffman: :shorter))
            @sensitive = {} # by name: the last value, and its bytes
          end

          # @param bytes [Integer] the value in the server's SETTINGS
          def table_size=(bytes)
            @compressor.max_table_size = bytes
          end

          # @param fields [Array<Array(String, String)>] with pseudo-headers first
          # @return [String] a header block
          def encode(fields)
            sensitive, usual = fields.partition { |name, _| SENSITIVE.include?(name) }
            block = @compressor.encode(usual)
            sensitive.each { |name, value| block << sensitive_field(name, value) }
            block
          end

          private

          # Huffman coding is slow in Ruby, and most requests of a client have the same credentials.
          def sensitive_field(name, value)
            last, bytes = @sensitive[name]
            return bytes if last == value

            bytes = @compressor.header({ type: :neverindexed, name: name, value: value })
            @sensitive[name] = [value, bytes]
            bytes
          end
        end

        # The header fields that a server refers to by index: the static ones, and those that it has sent (RFC 7541
        # 2.3).
        class HeaderTable
          include Redacted

          # The client's SETTINGS_HEADER_TABLE_SIZE, the default.
          MOST_BYTES = 4096
          OVERHEAD = 32
          private_constant :OVERHEAD

          # @return [Array<Array(String, String)>] RFC 7541 A
          def self.static
            @static ||= ::HTTP2::Header::EncodingContext::STATIC_TABLE.map do |pair|
              pair.map { |text| FieldSection.text(text.b) }.freeze
            end.freeze
          end

          def initialize
            @static = HeaderTable.static
            @entries = []
            @bytes = 0
            @limit = MOST_BYTES
          end

          # @param index [Integer] from 1
          # @return [Array(String, String), nil]
          def [](index)
            index <= @static.size ? @static[index - 1] : @entries[index - 1 - @static.size]
          end

          def add(name, value)
            @entries.unshift([name, value].freeze)
            @bytes += bytes_of(name, value)
            evict
          end

          def limit=(bytes)
            @limit = bytes
            evict
          end

          private

          def bytes_of(name, value) = name.bytesize + value.bytesize + OVERHEAD

          def evict
            @bytes -= bytes_of(*@entries.pop) while @bytes > @limit
          end
        end

        # Decodes the header blocks of a server (RFC 7541).
        class HeaderDecoder
          include Redacted

          # A longer name or value ends the connection.
          TEXT_BYTES = 65_536
          private_constant :TEXT_BYTES

          def initialize
            @table = HeaderTable.new
          end

          # Every block must be decoded completely, since it changes the table.
          #
          # @yieldparam name [String] frozen
          # @yieldparam value [String] frozen
          # @raise [Violation]
          def decode(block, &field)
            @block = block
            @at = 0
            resize while @at < block.bytesize && block.getbyte(@at) & 0xe0 == 0x20
            take_representation(&field) while @at < block.bytesize
          rescue ::HTTP2::Error::Error => error # raised by Huffman.decode
            raise corrupt(error.message)
          ensure
            @block = nil
          end

          private

          # RFC 7541 6.
          def take_representation(&field)
            byte = @block.getbyte(@at)
            if byte >= 0x80 then yield(*entry(integer(7)))
            elsif byte >= 0x40 then @table.add(*literal(6, &field))
            elsif byte >= 0x20 then raise corrupt("the table's size changes within a block")
            else literal(4, &field)
            end
          end

          def resize
            bytes = integer(5)
            raise corrupt("a table of #{bytes} bytes") if bytes > HeaderTable::MOST_BYTES

            @table.limit = bytes
          end

          def literal(prefix)
            index = integer(prefix)
            name = index.zero? ? text : entry(index).first
            value = text
            yield name, value
            [name, value]
          end

          def entry(index)
            found = @table[index] if index.positive?
            found || raise(corrupt("there is no field #{index}"))
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
