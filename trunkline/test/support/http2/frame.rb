# frozen_string_literal: true

require_relative "../../../../trunkline-lab/lib/trunkline/lab/faults/http2/frame_connection"

# Frames, streams and connections of HTTP/2 as the lab's servers have them, too.
Frame = Trunkline::Lab::Faults::HTTP2::Frame
FrameStream = Trunkline::Lab::Faults::HTTP2::FrameStream
FrameConnection = Trunkline::Lab::Faults::HTTP2::FrameConnection
