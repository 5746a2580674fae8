# frozen_string_literal: true

require_relative "../fault"
require_relative "frame"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # Fields that are not allowed in a response, and faults in HPACK.
        module Heads
          extend Group

          def self.add(name, does, **rest, &script) = super(:"http2_#{name}", does, http2: true, **rest, &script)

          group "HTTP/2: heads"

          # Each field refers to one entry of the table: a few bytes in the frame, a megabyte when decoded.
          add(:hpack_bomb, "fields that grow when HPACK unpacks them") do |stream|
            entry = "\x40\x01a\x7f\xb9\x1e".b + ("b" * 4000) # literal with indexing; 4000 as an integer of 7 bits
            stream.connection.frame(:headers, Frame::END_HEADERS | Frame::END_STREAM, stream.id,
                                    "\x88".b + entry + ("\xbe".b * 2000))
          end
          add(:hpack_index, "an index beyond HPACK's table") do |stream|
            stream.connection.frame(:headers, Frame::END_HEADERS, stream.id, "\xff\x40")
          end
          add(:hpack_table_size, "a table of HPACK larger than was allowed") do |stream|
            stream.connection.frame(:headers, Frame::END_HEADERS, stream.id, "\x3f\xe1\xff\x03\x88")
          end
          add(:many_fields, "300 fields") do |stream|
            fields = Array.new(300) { |number| ["x-#{number}", "b"] }
            stream.connection.header_block(stream.id, [%w[:status 200], *fields], true, 16_000)
          end
          add(:giant_field, "a field of 200 kB") do |stream|
            stream.connection.header_block(stream.id, [%w[:status 200], ["x-a", "b" * 200_000]], true, 16_000)
          end
          { no_status: ["no `:status`", [%w[x-a b]]], two_statuses: ["two `:status`", [%w[:status 200]] * 2],
            request_field: ["`:path` in an answer", [%w[:status 200], %w[:path /]]],
            switching: ["`:status: 101`", [%w[:status 101]]],
            capitals: ["capitals in a name", [%w[:status 200], %w[X-A b]]],
            line_end: ["a line end in a value", [%w[:status 200], ["x-a", "b\r\nc: d"]]],
            nul: ["NUL in a value", [%w[:status 200], ["x-a", "b\0c"]]],
            connection: ["`connection: close`", [%w[:status 200], %w[connection close]]],
            chunked: ["`transfer-encoding: chunked`", [%w[:status 200], %w[transfer-encoding chunked]]],
            two_lengths: ["two `content-length` that differ", [%w[:status 200], %w[content-length 1],
                                                               %w[content-length 2]]] }.each do |name, (does, fields)|
            add(name, does) { |stream| stream.connection.header_block(stream.id, fields, false) }
          end
          add(:http1, "HTTP/1.1") do |stream|
            stream.connection.raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL")
          end
        end
      end
    end
  end
end
