# frozen_string_literal: true

require_relative "../budget"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # Controls how much of each response the server may send before its call takes it. While half of the process's
        # budget is free, a stream gets a full window. After that a Session gives new streams narrow windows, and widens
        # the window of a large response whose call takes the data.
        module Windows
          FULL = 1024 * 1024
          NARROW = 64 * 1024
          # Received bytes after which a response counts as large.
          LARGE_BODY = 32 * 1024
          private_constant :LARGE_BODY

          # Must be called when the call has consumed bytes of the stream's data: credits its window with as many.
          def consumed(stream, count)
            return if stream.closed || stream.ended

            widen(stream)
            stream.uncredited += count
            return if stream.uncredited < stream.flow_window / 2

            open_window(stream, stream.uncredited)
            stream.uncredited = 0
          end

          private

          def prepare_windows
            @narrow = false
            @settings_unacked = 1 # SETTINGS of the client that the server has not acknowledged
          end

          # @return [Integer, nil] bytes of the budget for a new stream
          def reserve_window
            return FULL if !@narrow && reserve_for_full(FULL)

            narrow_down
            NARROW if Budget.reserve(NARROW)
          end

          # Half of the budget is reserved for narrow windows, so that full windows that are not read do not block other
          # calls.
          def reserve_for_full(bytes) = Budget.reserve(bytes, Budget.limit / 2)

          def narrow_down
            return if @narrow

            @narrow = true
            @settings_unacked += 1
            emit(Frame.settings(initial_window_size: NARROW))
          end

          # Called when both sides and the call have finished with the stream.
          def release_window(stream)
            Budget.release(stream.window)
            stream.window = 0
          end

          # From now on the server obeys the client's last SETTINGS; data that it sent before may exceed them.
          def settings_acked
            protocol_error("an acknowledgement of no SETTINGS") if @settings_unacked.zero?
            return if (@settings_unacked -= 1).positive? || !@narrow

            @streams.each_value do |stream|
              next if stream.flow_window == NARROW

              stream.flow_window = NARROW
              stream.receive_window -= FULL - NARROW
              next if stream.window <= NARROW || stream.data.bytesize > NARROW

              Budget.release(stream.window - NARROW)
              stream.window = NARROW
            end
          end

          def widen(stream)
            return if !@narrow || @settings_unacked.positive? || stream.window >= FULL || stream.received < LARGE_BODY
            return if stream.ends_soon? || !reserve_for_full(FULL - stream.window)

            open_window(stream, FULL - stream.window)
            stream.window = stream.flow_window = FULL
          end

          def open_window(stream, bytes)
            emit(Frame.window_update(stream.id, bytes))
            stream.receive_window += bytes
          end
        end
      end
    end
  end
end
