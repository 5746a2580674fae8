# frozen_string_literal: true

require_relative "../failures"

module Trunkline
  module Engine
    module Ruby
      # HTTP/2 (RFC 9113). The HPACK encoder and the Huffman code are those of the gem http-2.
      module HTTP2
        # @return [Boolean] whether the gem is installed
        def self.available?
          require "http/2"
          defined?(::HTTP2::Header::EncodingContext) ? true : false
        rescue LoadError
          false
        end

        # A violation of the protocol by the server, which ends the connection.
        class Violation < StandardError
          attr_reader :code, :error_code

          # @param code [Symbol] a key of FAILURES
          # @param error_code [Symbol] one of Frame::ERRORS, for GOAWAY
          # @param words [String] what the server did
          def initialize(code, error_code, words)
            super(code == :HTTP2_PROTOCOL ? "#{words} (#{error_code})" : words)
            @code = code
            @error_code = error_code
          end
        end

        # The format of frames (RFC 9113 4 and 6).
        module Frame
          PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b.freeze
          HEAD_BYTES = 9
          # The client's SETTINGS_MAX_FRAME_SIZE: the default, and the minimum that a server may set.
          MOST_BYTES = 16_384

          TYPES = %i[data headers priority rst_stream settings push_promise ping goaway window_update
                     continuation].freeze
          NUMBERS = TYPES.each_with_index.to_h.freeze

          END_STREAM = 0x1
          ACK = 0x1
          END_HEADERS = 0x4
          PADDED = 0x8
          PRIORITY = 0x20

          # RFC 9113 7; the index is the error code.
          ERRORS = %i[NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED
                      FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM
                      INADEQUATE_SECURITY HTTP_1_1_REQUIRED].freeze

          # RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1.
          SETTINGS = { header_table_size: 1, enable_push: 2, max_concurrent_streams: 3, initial_window_size: 4,
                       max_frame_size: 5, max_header_list_size: 6, enable_connect_protocol: 8,
                       no_rfc7540_priorities: 9 }.freeze
          SETTINGS_BY_NUMBER = SETTINGS.invert.freeze

          module_function

          # @return [String]
          def bytes(type, flags, id, payload = "")
            size = payload.bytesize
            [size >> 16, size & 0xffff, NUMBERS.fetch(type), flags, id].pack("CnCCN") << payload
          end

          def settings(values)
            bytes(:settings, 0, 0, values.map { |name, value| [SETTINGS.fetch(name), value].pack("nN") }.join)
          end

          # @param error [Symbol] one of ERRORS
          def reset(id, error) = bytes(:rst_stream, 0, id, [ERRORS.index(error)].pack("N"))

          def window_update(id, increment) = bytes(:window_update, 0, id, [increment].pack("N"))

          # @return [String] "CANCEL"
          def error_word(number) = ERRORS.fetch(number, "an unknown code").to_s
        end
      end
    end
  end
end
