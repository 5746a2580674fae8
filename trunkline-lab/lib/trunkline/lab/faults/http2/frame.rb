# frozen_string_literal: true

module Trunkline
  module Lab
    module Faults
      module HTTP2
        Frame = Struct.new(:type, :flags, :stream, :payload)

        # One frame of HTTP/2 (RFC 9113 4.1), sent or received; its type and error codes are Symbols.
        class Frame
          TYPES = %i[data headers priority rst_stream settings push_promise ping goaway window_update
                     continuation].freeze
          ERRORS = %i[no_error protocol_error internal_error flow_control_error settings_timeout stream_closed
                      frame_size_error refused_stream cancel compression_error connect_error enhance_your_calm
                      inadequate_security http_1_1_required].freeze
          SETTINGS = { header_table_size: 1, enable_push: 2, max_concurrent_streams: 3, initial_window_size: 4,
                       max_frame_size: 5, max_header_list_size: 6, enable_connect_protocol: 8 }.freeze
          ACK = 0x1
          END_STREAM = 0x1
          END_HEADERS = 0x4
          PADDED = 0x8
          PRIORITY = 0x20
          HEAD_BYTES = 9

          # Parses the 9 bytes of a frame's head: [the payload's length, the frame without it].
          def self.parse_head(bytes)
            high, low, type, flags, stream = bytes.unpack("CnCCN")
            [(high << 16) | low, new(TYPES[type] || type, flags, stream & 0x7fff_ffff, nil)]
          end

          def self.settings(values)
            values.map { |name, value| [name.is_a?(Symbol) ? SETTINGS.fetch(name) : name, value].pack("nN") }.join
          end

          # :cancel => 8; a number is returned unchanged.
          def self.error_number(code)
            code.is_a?(Symbol) ? ERRORS.index(code) || raise(ArgumentError, code.inspect) : code
          end

          def self.error_name(number) = ERRORS[number] || number

          def flag?(bit) = flags.anybits?(bit)

          def to_bytes
            number = type.is_a?(Symbol) ? TYPES.index(type) || raise(ArgumentError, type.inspect) : type
            [payload.bytesize >> 16, payload.bytesize & 0xffff, number, flags, stream].pack("CnCCN") + payload.b
          end

          # The payload without padding and priority.
          def content
            bytes = payload
            bytes = bytes.byteslice(1, bytes.bytesize - 1 - bytes.getbyte(0)) if flag?(PADDED)
            type == :headers && flag?(PRIORITY) ? bytes.byteslice(5..) : bytes
          end

          # The error code of RST_STREAM and GOAWAY.
          def error = Frame.error_name(payload.byteslice(type == :goaway ? 4 : 0, 4).unpack1("N"))
        end
      end
    end
  end
end
