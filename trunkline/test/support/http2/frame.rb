# frozen_string_literal: true

require_relative "../../../../trunkline-lab/lib/trunkline/lab/faults/http2/frame"

# As the lab's servers have it.
Frame = Trunkline::Lab::Faults::HTTP2::Frame
