# frozen_string_literal: true

require_relative "frame"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # One request and its answer, as the server's script sees them. Whatever is sent for a stream that the client
        # has reset, or on a connection that has ended, raises Gone.
        class FrameStream
          Gone = Class.new(IOError)

          # As it came; its body is what has come so far.
          Request = Struct.new(:raw, :verb, :target, :headers, :body) do
            def [](name) = headers.find { |field, _| field.casecmp?(name) }&.last
          end

          attr_reader :id, :connection, :fields, :request, :reset_by_client, :answered
          attr_accessor :send_window

          # @param fields [Array] of the request, with the pseudo-headers
          # @param bodiless [Boolean] whether the request ends with its head
          def initialize(connection, id, fields, window, bodiless)
            @connection = connection
            @id = id
            @fields = fields
            @send_window = window
            @incoming = Thread::Queue.new
            @request = as_request
            @answered = false
            @bodiless = bodiless
            end_request if bodiless
          end

          def verb = request.verb
          def target = request.target
          def [](name) = request[name]
          def pseudo(name) = fields.assoc(name)&.last

          # Has either side ended it? (Of ours: said all that was to say.)
          def over? = answered || !reset_by_client.nil?

          # ---- what the client sends

          # The next piece of the body; nil at its end, or when the client has gone.
          def read
            piece = @incoming.pop or return
            connection.consumed(self, piece.bytesize)
            piece
          end

          # The whole body.
          def body
            rest = "".b
            while (piece = read)
              rest << piece
            end
            rest
          end

          def request_ended? = @request_ended || false
          def bodiless? = @bodiless

          # Trailers of the request; nil until they come.
          attr_reader :request_trailers

          # Nothing more, until the client has reset the stream or gone.
          def stall = connection.wait_until { reset_by_client || connection.over? }

          # @return [Symbol, nil] the error code with which the client reset the stream; nil when it does not
          def wait_reset(seconds = 5) = connection.wait_until(seconds) { reset_by_client } && reset_by_client

          # ---- what the server sends

          def informational(status, **fields) = section({ ":status" => status, **fields })

          # @param split [Integer, nil] bytes of the header block in each of HEADERS and CONTINUATION
          def headers(status = 200, end_stream: false, split: nil, **fields)
            section({ ":status" => status, **fields }, end_stream: end_stream, split: split)
          end

          def trailers(**fields) = section(fields, end_stream: true)

          # DATA in frames of `piece` bytes at most, within the client's windows; `padding` bytes in each.
          def data(bytes, end_stream: false, padding: nil, piece: 16_384)
            rest = bytes.b
            until rest.empty?
              # Nothing that we acknowledge, such as a smaller window, comes between what is taken of the window and its
              # frame.
              connection.exclusively do
                count = connection.take_window(self, [rest.bytesize, piece].min, overhead: padding ? padding + 1 : 0)
                data_frame(rest.slice!(0, count), end_stream && rest.empty?, padding)
              end
            end
            data_frame("", true, padding) if end_stream && bytes.empty?
            self
          end
          alias << data

          # A whole answer.
          def answer(body = "ok", status: 200, **fields)
            headers(status, end_stream: body.empty?, **fields)
            data(body, end_stream: true) unless body.empty?
            self
          end

          # What has no window to wait for, and is sent as it is.
          def frame(type, flags = 0, payload = "")
            raise Gone, "stream #{id} is gone" if reset_by_client || connection.over?

            connection.frame(type, flags, id, payload)
          end

          def reset(code = :cancel)
            @answered = true
            frame(:rst_stream, 0, [Frame.error_number(code)].pack("N"))
          end

          def grant(bytes) = frame(:window_update, 0, [bytes].pack("N"))

          # ---- the connection's

          # The block is called when the client resets the stream or goes; at once when that has been.
          def on_reset(&block)
            connection.exclusively { reset_by_client || connection.over? ? yield : @on_reset = block }
          end

          def take_data(bytes, last)
            @request.body << bytes
            @incoming << bytes unless bytes.empty?
            end_request if last
          end

          def take_trailers(fields)
            @request_trailers = fields
            end_request
          end

          def end_request
            @request_ended = true
            @incoming.close
          end

          def take_reset(code)
            @reset_by_client = code
            @incoming.close
            @on_reset&.call
          end

          # The connection has ended.
          def abandon
            @incoming.close
            @on_reset&.call
          end

          private

          def section(fields, end_stream: false, split: nil)
            raise Gone, "stream #{id} is gone" if reset_by_client || connection.over?

            @answered ||= end_stream
            pairs = fields.map { |name, value| [name.to_s.downcase, value.to_s] }
            connection.header_block(id, pairs, end_stream, split)
            self
          end

          def data_frame(bytes, last, padding)
            @answered ||= last
            flags = (last ? Frame::END_STREAM : 0) | (padding ? Frame::PADDED : 0)
            frame(:data, flags, padding ? [padding].pack("C") + bytes + ("\0" * padding) : bytes)
          end

          def as_request
            host = [["host", pseudo(":authority")]].select(&:last)
            rest = fields.reject { |name, _| name.start_with?(":") }
            Request.new(nil, pseudo(":method"), pseudo(":path"), host + rest, "".b)
          end
        end
      end
    end
  end
end
