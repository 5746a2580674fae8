# frozen_string_literal: true

require_relative "../../../../trunkline-lab/lib/trunkline/lab/faults/http2/frame_connection"
require_relative "frame"

# The tests use the classes of the lab's servers.
FrameStream = Trunkline::Lab::Faults::HTTP2::FrameStream
FrameConnection = Trunkline::Lab::Faults::HTTP2::FrameConnection
