# frozen_string_literal: true

require_relative "../../../../trunkline-lab/lib/trunkline/lab/faults/http2/frame_connection"
require_relative "frame"

# As the lab's servers have them.
FrameStream = Trunkline::Lab::Faults::HTTP2::FrameStream
FrameConnection = Trunkline::Lab::Faults::HTTP2::FrameConnection
