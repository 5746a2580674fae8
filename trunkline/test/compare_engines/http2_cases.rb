# frozen_string_literal: true

require "protocol/hpack"
require_relative "cases"
require_relative "../support/http2/frame"

# Responses over HTTP/2 for both engines: the mutated frames that a server sends on its only connection, whose only
# stream is 1. The same seed and number make the same case.
module HTTP2Cases
  ANSWERS = {
    plain: [[%w[:status 200], %w[content-length 5], %w[x-a b], %w[x-a c]], ["hello"]],
    unframed: [[%w[:status 404], %w[content-type text/plain]], %w[until the end]],
    empty: [[%w[:status 204], %w[etag x]], []],
    unchanged: [[%w[:status 304], %w[content-length 10]], []],
    moved: [[%w[:status 302], %w[location /next]], [""]],
    gzip: [[%w[:status 200], %w[content-encoding gzip]], [Cases::GZIP.byteslice(0, 9), Cases::GZIP.byteslice(9..)]]
  }.freeze
  FIELDS = [%w[:status 200], %w[:status 103], %w[:status 101], %w[:status 2x0], %w[:path /], %w[x-late 1], %w[X-A b],
            ["x a", "b"], ["x-a", "b\r\nc"], ["x-a", "b\0"], ["x-a", " b "], ["x-a", ""], ["", "x"], %w[te trailers],
            %w[te gzip], %w[connection close], %w[transfer-encoding chunked], %w[content-length 5],
            %w[content-length 7], %w[content-length -1], %w[content-encoding gzip], ["x-a", "y" * 70_000],
            ["x-a", "z" * 9000]].freeze
  OTHERS = [[:ping, 0, 0, "12345678"], [:ping, 1, 0, "12345678"], [:ping, 0, 0, "1234"], [:settings, 1, 0, ""],
            [:settings, 0, 0, [3, 10].pack("nN")], [:settings, 0, 0, [4, 0].pack("nN")],
            [:settings, 0, 0, [4, 1 << 31].pack("nN")], [:settings, 0, 0, [5, 100].pack("nN")],
            [:settings, 0, 0, [2, 1].pack("nN")], [:settings, 0, 0, [1, 0].pack("nN")], [:settings, 0, 0, "12345"],
            [:window_update, 0, 0, [100].pack("N")], [:window_update, 0, 1, [100].pack("N")],
            [:window_update, 0, 1, [0].pack("N")], [:window_update, 0, 1, [0x7fff_ffff].pack("N")],
            [:window_update, 0, 0, [0x7fff_ffff].pack("N")], [:rst_stream, 0, 1, [8].pack("N")],
            [:rst_stream, 0, 1, [7].pack("N")], [:rst_stream, 0, 1, [0].pack("N")], [:rst_stream, 0, 3, [2].pack("N")],
            [:goaway, 0, 0, [1, 0].pack("NN")], [:goaway, 0, 0, [0, 0].pack("NN")],
            [:goaway, 0, 0, "#{[1, 11].pack("NN")}calm"], [:priority, 0, 1, "\0" * 5], [:priority, 0, 3, "\0" * 5],
            [0x42, 0, 1, "unknown"], [:continuation, 4, 1, "\x88"], [:push_promise, 4, 1, "\0\0\0\x02\x88"],
            [:data, 0, 1, ""], [:data, 8, 1, "\x03abc\0\0\0"], [:data, 8, 1, "\x09abc"], [:data, 0, 1, "x" * 16_385],
            [:data, 1, 1, "last"]].freeze
  # One in EVERY cases is an HTTP/2 case.
  EVERY = 4
  # Types, flags and streams that a mutation may give a frame.
  TYPES = [*0..10, 0x42].freeze
  FLAGS = [0, 1, 4, 5, 8, 9, 0x20, 0x2d, 0xff].freeze
  STREAMS = [0, 1, 2, 3, 0x7fff_ffff].freeze

  module_function

  # @return [Boolean] whether the case with this number is an HTTP/2 case
  def number?(number) = number % EVERY == EVERY - 1

  # @return [Cases::Case]
  def make(seed, number)
    random = Random.new((seed * 1_000_033) + number)
    frames = [[:settings, 0, 0, random.rand(2).zero? ? "" : [3, 100].pack("nN")], *response_frames(random)]
    random.rand(number < ANSWERS.size * EVERY ? 1 : 4).times { mutate(frames, random) }
    bytes = frames.map { |frame| Frame.new(*frame).to_bytes }.join
    random.rand(1..3).times { Cases.mutate(bytes, random) } if random.rand(8).zero?
    Cases::Case.new(number, Cases::METHODS[random.rand(Cases::METHODS.size)], pieces_of(bytes, frames, random, number),
                    random.rand(3).zero?)
  end

  # @return [Boolean] whether the bytes end within a frame or a header section: an engine may then report an error in
  #   the incomplete part before it notices that the rest is missing
  def cut?(bytes)
    open = false
    while bytes.bytesize >= Frame::HEAD_BYTES
      length, frame = Frame.parse_head(bytes)
      bytes = bytes.byteslice((Frame::HEAD_BYTES + length)..) or return true
      open = %i[headers continuation].include?(frame.type) && !frame.flag?(Frame::END_HEADERS)
    end
    open || !bytes.empty?
  end

  # A case that refuses the request is sent in one piece: otherwise it would depend on timing whether the request is
  # sent again on the same connection or on another.
  def pieces_of(bytes, frames, random, number)
    refuses = frames.any? do |type, _, _, payload|
      (type == :rst_stream && payload == [7].pack("N")) || (type == :goaway && payload.start_with?("\0\0\0\0"))
    end
    refuses ? [bytes] : Cases.split(bytes, random, number)
  end

  def response_frames(random)
    fields, pieces = ANSWERS.values[random.rand(ANSWERS.size)]
    encoding = Protocol::HPACK::Context.new
    frames = random.rand(4).zero? ? [head(encoding, [%w[:status 103], %w[link </a>]])] : []
    frames << head(encoding, changed(fields, random), pieces.empty? ? 1 : 0)
    trailers = random.rand(5).zero?
    pieces.each_with_index { |piece, at| frames << [:data, at == pieces.size - 1 && !trailers ? 1 : 0, 1, piece] }
    trailers && !pieces.empty? ? frames << head(encoding, changed([%w[x-sum 7]], random), 1) : frames
  end

  def changed(fields, random)
    return fields unless random.rand(6).zero?

    fields.dup.insert(random.rand(fields.size + 1), FIELDS[random.rand(FIELDS.size)])
  end

  def head(encoding, fields, ends = 0)
    block = Protocol::HPACK::Compressor.new("".b, encoding).encode(fields)
    [:headers, 4 | ends, 1, block.byteslice(0, 16_384)]
  end

  def mutate(frames, random)
    return if frames.empty?

    at = random.rand(frames.size)
    type, flags, stream, payload = frames[at]
    case random.rand(9)
    when 0 then Cases.mutate(payload = payload.b, random)
    when 1 then type = TYPES[random.rand(TYPES.size)]
    when 2 then flags = FLAGS[random.rand(FLAGS.size)]
    when 3 then stream = STREAMS[random.rand(STREAMS.size)]
    when 4 then return frames.delete_at(at)
    when 5 then return frames.insert(at, frames[at])
    else return frames.insert(random.rand(frames.size + 1), OTHERS[random.rand(OTHERS.size)])
    end
    frames[at] = [type, flags, stream, payload]
  end
end
