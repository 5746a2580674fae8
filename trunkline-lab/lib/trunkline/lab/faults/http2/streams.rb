# frozen_string_literal: true

require_relative "../codings"
require_relative "../connections"
require_relative "../fault"
require_relative "frame"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # Streams that end in an invalid way, and faults in windows.
        module Streams
          extend Group

          UPLOAD = 200_000 # bytes: more than the window

          def self.add(name, does, **rest, &script) = super(:"http2_#{name}", does, http2: true, **rest, &script)

          group "HTTP/2: streams and windows"

          add(:reset_instead_of_an_answer, "`RST_STREAM` instead of a response") do |stream|
            stream.reset(:internal_error)
          end
          add(:reset_within_the_body, "`RST_STREAM` within the body") do |stream|
            stream.headers.data("o").reset(:internal_error)
          end
          add(:refused, "`REFUSED_STREAM` for each attempt") { |stream| stream.reset(:refused_stream) }
          add(:goaway_unprocessed, "`GOAWAY` that leaves the request out, each time") do |stream|
            stream.connection.send_goaway(0).close
          end
          add(:goaway_within_the_body, "`GOAWAY` within the body, then a closed connection") do |stream|
            stream.headers.data("o")
            stream.connection.send_goaway(stream.id, :internal_error).close
          end
          add(:goaway_and_the_rest, "`GOAWAY` within the body, and the rest of it", body: "ok") do |stream|
            stream.headers.data("o")
            stream.connection.send_goaway(stream.id)
            stream.data("k", end_stream: true)
          end
          add(:end_within_the_body, "the end of the connection within the body") do |stream|
            stream.headers.data("o")
            stream.connection.close
          end
          add(:data_before_the_head, "`DATA` before the head") do |stream|
            stream.data("ok", end_stream: true)
          end
          add(:data_after_the_end, "`DATA` after the end of the stream", body: "ok", late: true) do |stream|
            stream.answer
            stream.connection.frame(:data, 0, stream.id, "EVIL")
          end
          add(:second_head, "a second head and body on the same stream", body: "ok", late: true) do |stream|
            stream.answer
            stream.connection.header_block(stream.id, [%w[:status 200]], false)
            stream.connection.frame(:data, Frame::END_STREAM, stream.id, "EVIL")
          end
          add(:data_of_no_stream, "`DATA` on a stream that nobody opened") do |stream|
            stream.connection.frame(:data, 0, 99, "EVIL")
          end
          add(:length_too_small, "more `DATA` than `content-length` says") do |stream|
            stream.headers("content-length" => "2").data("okEVIL", end_stream: true)
          end
          add(:length_too_large, "less `DATA` than `content-length` says") do |stream|
            stream.headers("content-length" => "9").data("ok", end_stream: true)
          end
          add(:window_overflow, "windows beyond 2^31") do |stream|
            2.times { stream.connection.grant(0x7fff_ffff) }
          end
          add(:frame_too_large, "a frame larger than was allowed") do |stream|
            stream.connection.frame(:data, 0, stream.id, "x" * 20_000)
          end
          add(:push, "`PUSH_PROMISE`, which was switched off") do |stream|
            stream.connection.frame(:push_promise, Frame::END_HEADERS, stream.id, "\0\0\0\x02\x88")
          end
          add(:silence, "no response", &:stall)
          add(:half_a_body, "half a body, and then nothing") do |stream|
            stream.headers.data("o").stall
          end
          add(:window_stalled, "no window for the body of the request", verb: :post, upload: UPLOAD, &:stall)
          add(:endless, "a body without an end", untried: Connections::ENDLESS) do |stream|
            stream.headers
            loop { stream.data(Bytes::MEGABYTE) }
          end
          add(:bomb, "24 MB of zeros as gzip", coded: Codings.bomb) do |stream|
            stream.answer(Codings.bomb, "content-encoding" => "gzip")
          end
        end
      end
    end
  end
end
