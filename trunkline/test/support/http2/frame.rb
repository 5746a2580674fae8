# frozen_string_literal: true

require_relative "../../../../trunkline-lab/lib/trunkline/lab/faults/http2/frame"

# The tests use the class of the lab's servers.
Frame = Trunkline::Lab::Faults::HTTP2::Frame
