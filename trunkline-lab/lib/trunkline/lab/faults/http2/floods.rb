# frozen_string_literal: true

require_relative "../fault"
require_relative "frame"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # Endless sequences of frames.
        module Floods
          extend Group

          # Each of these frames is legal. The lambdas take the stream's number.
          OF_A_CONNECTION = {
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

          # The first of each of these frames ends the stream.
          OF_A_STREAM = {
            reset: ->(id) { [:rst_stream, 0, id, "\0\0\0\x08"] },
            informational: ->(id) { [:headers, Frame::END_HEADERS, id, "\x48\x03103"] } # a literal: ":status: 103"
          }.freeze

          ALL = OF_A_CONNECTION.merge(OF_A_STREAM).freeze

          # Frames to send before the flood.
          BEFORE = {
            empty_data: :headers.to_proc,
            data_of_padding_alone: :headers.to_proc,
            continuation: ->(stream) { stream.frame(:headers, 0, "\x88") }
          }.freeze

          # @param stream [FrameStream]
          # @param name [Symbol] of ALL
          def self.send_on(stream, name)
            BEFORE[name]&.call(stream)
            frames = Frame.new(*ALL.fetch(name).call(stream.id)).to_bytes * 500
            loop { stream.connection.raw(frames) }
          end

          group "HTTP/2: floods"

          { settings: "`SETTINGS` without end", settings_that_say_nothing: "empty `SETTINGS` without end",
            ping: "`PING` without end", empty_data: "empty `DATA` without end",
            data_of_padding_alone: "`DATA` of padding alone without end",
            window_updates: "`WINDOW_UPDATE` without end", priority: "`PRIORITY` without end",
            unknown_frames: "frames of an unknown type without end", continuation: "`CONTINUATION` without end",
            reset: "`RST_STREAM` without end", informational: "`103` without end" }.each do |name, does|
            add(:"http2_#{name}", does, http2: true, late: OF_A_STREAM.key?(name)) { |stream| send_on(stream, name) }
          end
        end
      end
    end
  end
end
