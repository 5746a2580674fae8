# frozen_string_literal: true

require_relative "frame"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # One request and its response, as the server's script sees them. Sending on a stream that the client has reset,
        # or on a connection that has ended, raises Gone.
        class FrameStream
          Gone = Class.new(IOError)

          # The request as received; its body is what has arrived so far.
          Request = Struct.new(:raw, :verb, :target, :headers, :body) do
            def [](name) = headers.find { |field, _| field.casecmp?(name) }&.last
          end

          attr_reader :id, :connection, :fields, :request, :reset_by_client, :answered
          attr_accessor :send_window

          # @param fields [Array] of the request, with the pseudo-headers
          # @param bodiless [Boolean] whether the request has no body
          def initialize(connection, id, fields, window, bodiless)
            @connection = connection
            @id = id
            @fields = fields
            @send_window = window
            @incoming = Thread::Queue.new
            @request = to_request
            @answered = false
            @bodiless = bodiless
            end_request if bodiless
          end

          def verb = request.verb
          def target = request.target
          def [](name) = request[name]
          def pseudo(name) = fields.assoc(name)&.last

          # Whether the client has reset the stream, or the script has sent the end of the response.
          def over? = answered || !reset_by_client.nil?

          # ---- receiving

          # The next piece of the body; nil at its end, or when the connection has ended.
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

          # Trailers of the request; nil until they arrive.
          attr_reader :request_trailers

          # Sends nothing more, and waits until the client has reset the stream or closed the connection.
          def stall = connection.wait_until { reset_by_client || connection.over? }

          # @return [Symbol, nil] the error code with which the client reset the stream; nil when it did not
          def wait_reset(seconds = 5) = connection.wait_until(seconds) { reset_by_client } && reset_by_client

          # ---- sending

          def informational(status, **fields) = section({ ":status" => status, **fields })

          # @param split [Integer, nil] bytes of the header block per HEADERS or CONTINUATION frame
          def headers(status = 200, end_stream: false, split: nil, **fields)
            section({ ":status" => status, **fields }, end_stream: end_stream, split: split)
          end

          def trailers(**fields) = section(fields, end_stream: true)

          # Sends DATA in frames of at most `piece` bytes, within the client's windows, with `padding` bytes in each.
          def data(bytes, end_stream: false, padding: nil, piece: 16_384)
            rest = bytes.b
            until rest.empty?
              # No acknowledgement, such as that of a smaller window, may be sent between taking from the window and
              # sending the frame.
              connection.exclusively do
                count = connection.take_window(self, [rest.bytesize, piece].min, overhead: padding ? padding + 1 : 0)
                data_frame(rest.slice!(0, count), end_stream && rest.empty?, padding)
              end
            end
            data_frame("", true, padding) if end_stream && bytes.empty?
            self
          end
          alias << data

          # Sends a whole response.
          def answer(body = "ok", status: 200, **fields)
            headers(status, end_stream: body.empty?, **fields)
            data(body, end_stream: true) unless body.empty?
            self
          end

          # Sends a frame unchanged, without waiting for a window.
          def frame(type, flags = 0, payload = "")
            raise Gone, "stream #{id} is gone" if reset_by_client || connection.over?

            connection.frame(type, flags, id, payload)
          end

          def reset(code = :cancel)
            @answered = true
            frame(:rst_stream, 0, [Frame.error_number(code)].pack("N"))
          end

          def grant(bytes) = frame(:window_update, 0, [bytes].pack("N"))

          # ---- called by the connection

          # The block is called when the client resets the stream or closes the connection; at once if that has
          # happened.
          def on_reset(&block)
            connection.exclusively { reset_by_client || connection.over? ? yield : @on_reset = block }
          end

          def receive_data(bytes, last)
            @request.body << bytes
            @incoming << bytes unless bytes.empty?
            end_request if last
          end

          def receive_trailers(fields)
            @request_trailers = fields
            end_request
          end

          def end_request
            @request_ended = true
            @incoming.close
          end

          def receive_reset(code)
            @reset_by_client = code
            @incoming.close
            @on_reset&.call
          end

          # Called when the connection has ended.
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

          def to_request
            host = [["host", pseudo(":authority")]].select(&:last)
            rest = fields.reject { |name, _| name.start_with?(":") }
            Request.new(nil, pseudo(":method"), pseudo(":path"), host + rest, "".b)
          end
        end
      end
    end
  end
end
