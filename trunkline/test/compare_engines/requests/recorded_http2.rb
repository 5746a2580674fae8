# frozen_string_literal: true

require "protocol/hpack"
require_relative "../../support/http2/frame"

# Receives HTTP/2 requests on one connection, and answers them. It records the field lists and the bodies.
class RecordedHTTP2
  PREFACE_REST = "* HTTP/2.0\r\n\r\nSM\r\n\r\n"

  # @param record [String] grows
  def initialize(socket, recorder, record)
    @socket = socket
    @recorder = recorder
    @record = record
    @reading = Protocol::HPACK::Context.new
    @writing = Protocol::HPACK::Context.new
    @section = "".b
  end

  def run
    @record << "HTTP/2 "
    @socket.read(PREFACE_REST.bytesize)
    send_frame(:settings, 0, 0, Frame.settings(initial_window_size: 0x7fff_ffff))
    send_frame(:window_update, 0, 0, [0x7000_0000].pack("N"))
    while (head = @socket.read(Frame::HEAD_BYTES))
      length, frame = Frame.parse_head(head)
      frame.payload = @socket.read(length)
      receive(frame)
    end
  end

  private

  def receive(frame)
    case frame.type
    when :settings then send_frame(:settings, Frame::ACK, 0, "") unless frame.flag?(Frame::ACK)
    when :headers, :continuation then receive_fields(frame)
    when :data then receive_data(frame)
    when :rst_stream then @record << "(RST_STREAM #{frame.error})"
    end
  end

  def receive_fields(frame)
    @ends = frame.flag?(Frame::END_STREAM) if frame.type == :headers
    @section << frame.content
    return unless frame.flag?(Frame::END_HEADERS)

    fields = Protocol::HPACK::Decompressor.new(@section, @reading).decode
    @section = "".b
    @record << in_any_order(fields).inspect.b << "\n"
    return answer(frame.stream) if @ends

    send_fields(frame.stream, [[":status", "100"]], Frame::END_HEADERS) if fields.assoc("expect")
  end

  # The order of fields with different names has no meaning (RFC 9110 5.3).
  def in_any_order(fields) = fields.each_with_index.sort_by { |(name, _), index| [name.b, index] }.map(&:first)

  def receive_data(frame)
    @record << frame.content
    answer(frame.stream) if frame.flag?(Frame::END_STREAM)
  end

  def answer(stream)
    @record << "\n"
    status, fields = @recorder.next_answer
    fields = [[":status", status.to_s], *fields.map { |name, value| [name.downcase, value.b] }]
    send_fields(stream, fields, Frame::END_HEADERS | Frame::END_STREAM)
  end

  def send_fields(stream, fields, flags)
    send_frame(:headers, flags, stream, Protocol::HPACK::Compressor.new("".b, @writing).encode(fields))
  end

  def send_frame(type, flags, stream, payload)
    @socket.write(Frame.new(type, flags, stream, payload).to_bytes)
  rescue SystemCallError
    nil # what the client has sent before it closed the connection is still read
  end
end
