# frozen_string_literal: true

require_relative "cases"
require_relative "../support/http2/frame"

# The faults of HTTP/2 as rows of the same table. A script is called with the stream (FrameStream) of the request that
# it spoils.
module HostileHTTP2
  extend Answers

  # Frames that come without end, each of which is legal: given the stream's number.
  FLOODS = {
    settings: ->(_) { [:settings, 0, 0, Frame.settings(max_concurrent_streams: 100)] },
    settings_that_say_nothing: ->(_) { [:settings, 0, 0, ""] },
    ping: ->(_) { [:ping, 0, 0, "liveness"] },
    empty_data: ->(id) { [:data, 0, id, ""] },
    data_of_padding_alone: ->(id) { [:data, Frame::PADDED, id, "\0"] },
    window_updates: ->(id) { [:window_update, 0, id, "\0\0\0\x01"] },
    priority: ->(id) { [:priority, 0, id, "\0\0\0\0\x10"] },
    unknown_frames: ->(id) { [0x42, 0, id, ""] },
    continuation: ->(id) { [:continuation, 0, id, "\x40\x01a\x01b"] }
  }.freeze

  # The first of these are enough to end the stream.
  FLOODS_OF_A_STREAM = {
    reset: ->(id) { [:rst_stream, 0, id, "\0\0\0\x08"] },
    informational: ->(id) { [:headers, Frame::END_HEADERS, id, "\x48\x03103"] } # a literal: ":status: 103"
  }.freeze

  # What comes before the flood.
  BEFORE = {
    empty_data: :headers.to_proc,
    data_of_padding_alone: :headers.to_proc,
    continuation: ->(stream) { stream.frame(:headers, 0, "\x88") }
  }.freeze

  # @param stream [FrameStream]
  # @param name [Symbol] of FLOODS or FLOODS_OF_A_STREAM
  def self.flood(stream, name)
    BEFORE[name]&.call(stream)
    frames = Frame.new(*FLOODS.merge(FLOODS_OF_A_STREAM).fetch(name).call(stream.id)).to_bytes * 500
    loop { stream.connection.raw(frames) }
  end

  TABLE = [] # rubocop:disable Style/MutableConstant -- frozen below, when it is complete
  private_constant :TABLE

  def self.group(name)
    @group = name
    yield
  end

  def self.add(name, does, expected, verb: :get, options: {}, **more, &script)
    TABLE << HostileCases::Case.new(group: @group, name: name, does: does, expected: expected, pause: 0,
                                    verb: verb, options: options, script: script, **more).freeze
  end

  SHORT = HostileCases::SHORT

  group "HTTP/2: floods" do
    { settings: "`SETTINGS` without end", settings_that_say_nothing: "empty `SETTINGS` without end",
      ping: "`PING` without end", empty_data: "empty `DATA` without end",
      data_of_padding_alone: "`DATA` of padding alone without end", window_updates: "`WINDOW_UPDATE` without end",
      priority: "`PRIORITY` without end", unknown_frames: "frames of an unknown type without end",
      continuation: "`CONTINUATION` without end" }.each do |name, does|
      add(name, does, :InvalidResponse) { |stream| flood(stream, name) }
    end
    add(:reset, "`RST_STREAM` without end", :StreamReset, late: true) { |stream| flood(stream, :reset) }
    add(:informational, "`103` without end", :InvalidResponse, late: true) { |stream| flood(stream, :informational) }
  end

  group "HTTP/2: streams and windows" do
    stalled = { timeout: { write: 0.2, first_byte: 5, total: 10 }, body: "x" * 200_000 }
    add(:reset_instead_of_an_answer, "`RST_STREAM` instead of an answer", :StreamReset) do |stream|
      stream.reset(:internal_error)
    end
    add(:reset_within_the_body, "`RST_STREAM` within the body", :StreamReset) do |stream|
      stream.headers.data("o").reset(:internal_error)
    end
    add(:refused, "`REFUSED_STREAM` for each attempt", :StreamReset) { |stream| stream.reset(:refused_stream) }
    add(:goaway_unprocessed, "`GOAWAY` that leaves the request out, each time", :ConnectionClosed) do |stream|
      stream.connection.send_goaway(0).close
    end
    add(:goaway_within_the_body, "`GOAWAY` within the body, and the end", :ConnectionClosed) do |stream|
      stream.headers.data("o")
      stream.connection.send_goaway(stream.id, :internal_error).close
    end
    add(:goaway_and_the_rest, "`GOAWAY` within the body, and the rest of it", "ok") do |stream|
      stream.headers.data("o")
      stream.connection.send_goaway(stream.id)
      stream.data("k", end_stream: true)
    end
    add(:end_within_the_body, "the end of the connection within the body", :TruncatedBody) do |stream|
      stream.headers.data("o")
      stream.connection.close
    end
    add(:data_before_the_head, "`DATA` before the head", :InvalidResponse) do |stream|
      stream.data("ok", end_stream: true)
    end
    add(:data_after_the_end, "`DATA` after the end of the stream", "ok", late: true) do |stream|
      stream.answer
      stream.connection.frame(:data, 0, stream.id, "EVIL")
    end
    add(:second_head, "a second head and body on the same stream", "ok", late: true) do |stream|
      stream.answer
      stream.connection.header_block(stream.id, [%w[:status 200]], false)
      stream.connection.frame(:data, Frame::END_STREAM, stream.id, "EVIL")
    end
    add(:data_of_no_stream, "`DATA` on a stream that nobody opened", :InvalidResponse) do |stream|
      stream.connection.frame(:data, 0, 99, "EVIL")
    end
    add(:length_too_small, "more `DATA` than `content-length` says", :InvalidResponse) do |stream|
      stream.headers("content-length" => "2").data("okEVIL", end_stream: true)
    end
    add(:length_too_large, "less `DATA` than `content-length` says", :TruncatedBody) do |stream|
      stream.headers("content-length" => "9").data("ok", end_stream: true)
    end
    add(:window_overflow, "windows beyond 2^31", :InvalidResponse) do |stream|
      2.times { stream.connection.grant(0x7fff_ffff) }
    end
    add(:frame_too_large, "a frame larger than was allowed", :InvalidResponse) do |stream|
      stream.connection.frame(:data, 0, stream.id, "x" * 20_000)
    end
    add(:push, "`PUSH_PROMISE`, which was switched off", :InvalidResponse) do |stream|
      stream.connection.frame(:push_promise, Frame::END_HEADERS, stream.id, "\0\0\0\x02\x88")
    end
    add(:silence, "no answer", :FirstByteTimeout, options: { timeout: SHORT }, &:stall)
    add(:half_a_body, "half a body, and then nothing", :ReadTimeout, options: { timeout: SHORT }) do |stream|
      stream.headers.data("o").stall
    end
    add(:window_stalled, "no window for the body of the request", :WriteTimeout, verb: :post, options: stalled, &:stall)
    add(:endless, "a body without an end", :BodyTooLarge, options: { max_body_bytes: 4_000_000 }) do |stream|
      stream.headers
      loop { stream.data(HostileCases::Faults::Bytes::MEGABYTE) }
    end
    add(:bomb, "24 MB of zeros as gzip", :BodyTooLarge, typhoeus: true) do |stream|
      stream.answer(HostileCases::Faults::Codings.bomb, "content-encoding" => "gzip")
    end
  end

  group "HTTP/2: heads" do
    # Each field refers to one entry of the table: a few bytes on the wire, a megabyte when read.
    add(:hpack_bomb, "fields that grow when HPACK unpacks them", :HeadersTooLarge) do |stream|
      entry = "\x40\x01a\x7f\xb9\x1e".b + ("b" * 4000) # literal with indexing; 4000 as an integer of 7 bits
      stream.connection.frame(:headers, Frame::END_HEADERS | Frame::END_STREAM, stream.id,
                              "\x88".b + entry + ("\xbe".b * 2000))
    end
    add(:hpack_index, "an index beyond HPACK's table", :InvalidResponse) do |stream|
      stream.connection.frame(:headers, Frame::END_HEADERS, stream.id, "\xff\x40")
    end
    add(:hpack_table_size, "a table of HPACK larger than was allowed", :InvalidResponse) do |stream|
      stream.connection.frame(:headers, Frame::END_HEADERS, stream.id, "\x3f\xe1\xff\x03\x88")
    end
    add(:many_fields, "300 fields", :HeadersTooLarge) do |stream|
      fields = Array.new(300) { |number| ["x-#{number}", "b"] }
      stream.connection.header_block(stream.id, [%w[:status 200], *fields], true, 16_000)
    end
    add(:giant_field, "a field of 200 kB", :InvalidResponse) do |stream|
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
      two_lengths: ["two `content-length` that differ",
                    [%w[:status 200], %w[content-length 1], %w[content-length 2]]] }.each do |name, (does, fields)|
      add(name, does, :InvalidResponse) { |stream| stream.connection.header_block(stream.id, fields, false) }
    end
    add(:http1, "HTTP/1.1", :InvalidResponse) do |stream|
      stream.connection.raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL")
    end
  end

  ALL = TABLE.freeze
end
