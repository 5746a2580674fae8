# frozen_string_literal: true

require_relative "cases"
require_relative "../support/http2/frame"

# The faults of an HTTP/2 server as rows of the same table. A script is called with the stream (FrameStream) of the
# request to which it responds wrongly.
module HostileHTTP2
  Floods = Trunkline::Lab::Faults::HTTP2::Floods

  STALLED = { timeout: { write: 0.2, first_byte: 5, total: 10 } }.freeze

  # Like HostileCases::EXPECTED, for faults whose error is not InvalidResponse.
  EXPECTED = {
    reset: :StreamReset, reset_instead_of_an_answer: :StreamReset, reset_within_the_body: :StreamReset,
    refused: :StreamReset,
    goaway_unprocessed: :ConnectionClosed, goaway_within_the_body: :ConnectionClosed, goaway_and_the_rest: nil,
    end_within_the_body: :TruncatedBody, data_after_the_end: nil, second_head: nil,
    length_too_large: :TruncatedBody, silence: [:FirstByteTimeout, HostileCases::STALLED],
    half_a_body: [:ReadTimeout, HostileCases::STALLED], window_stalled: [:WriteTimeout, { options: STALLED }],
    endless: [:BodyTooLarge, { options: { max_body_bytes: 4_000_000 } }], bomb: [:BodyTooLarge, { typhoeus: true }],
    hpack_bomb: :HeadersTooLarge, many_fields: :HeadersTooLarge
  }.transform_keys { |name| :"http2_#{name}" }.freeze

  ALL = HostileCases::Faults::ALL.select(&:http2).map do |fault|
    HostileCases.of(fault, *EXPECTED.fetch(fault.name, :InvalidResponse))
  end.freeze
end
