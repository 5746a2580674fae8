# frozen_string_literal: true

require_relative "frame"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # The part of Session that sends: HEADERS and replies at once, DATA as the windows allow (RFC 9113 5.2).
        module SendingFrames
          # Bytes that are framed before the socket accepts them.
          AHEAD = 64 * 1024
          private_constant :AHEAD

          # Adds a piece to the request's body; must be called only when stream.wants_body is set.
          # @param last [Boolean] whether the body is complete
          def feed(stream, piece, last)
            return if stream.closed || stream.upload_stopped || stream.body_ended

            stream.upload << piece
            stream.body_ended = last
            stream.wants_body = !last && stream.upload.empty?
            @senders[stream.id] = stream if stream.sends?
          end

          # @return [String] the bytes to be written; must not be changed
          def output
            frame_data while @output.bytesize < AHEAD && !@senders.empty? && @fault.nil?
            @control_frames = 0
            @output
          end

          def output? = !@output.empty? || !@senders.empty?

          # @param count [Integer] bytes of #output that were written
          def wrote(count)
            @written += count
            @output = count == @output.bytesize ? String.new : @output.byteslice(count..)
          end

          def drop_output
            @output = String.new
            @senders.clear
          end

          # @return [Integer] bytes of the request's body that were certainly written
          def body_written(stream) = [stream.framed - @output.bytesize, 0].max

          # @return [Boolean] whether the whole request is written
          def written?(stream) = !stream.request_ends.nil? && stream.request_ends <= @written

          # @return [Boolean] whether no byte of the request is written
          def unwritten?(stream) = stream.head_begins >= @written

          def ping
            return if @fault

            @pings_sent += 1
            emit(Frame.bytes(:ping, 0, 0, "\0" * 8))
          end

          # Sends GOAWAY: no more streams may be opened.
          def submit_goaway
            return if @fault || @goaway_sent

            @goaway_sent = true
            emit_goaway(:NO_ERROR)
          end

          private

          def prepare_sending
            @output = String.new
            @composed = @written = @control_frames = 0
            @senders = {} # streams that can send, by id; they take turns
            @blocked = {} # streams that wait for the window of the connection
            @send_window = 65_535
            @their = { initial_window_size: 65_535, max_frame_size: Frame::MOST_BYTES }
            @encoder = HeaderEncoder.new
          end

          def send_preface
            emit(Frame::PREFACE)
            emit(Frame.settings(enable_push: 0, initial_window_size: Windows::FULL,
                                max_header_list_size: Session::HEADER_LIST, no_rfc7540_priorities: 1))
            emit(Frame.window_update(0, Session::CONNECTION_WINDOW - 65_535))
          end

          def emit(bytes)
            @composed += bytes.bytesize
            @output << bytes
          end

          # Adds a frame that the server's frames require; a server that does not read these is stopped.
          def emit_reply(bytes)
            @control_frames += 1
            emit(bytes)
            return if @control_frames <= Session::IDLE_FRAMES

            raise Violation.new(:HTTP2_FLOOD, :ENHANCE_YOUR_CALM, "it reads no answers")
          end

          def emit_goaway(error)
            emit(Frame.bytes(:goaway, 0, 0, [0, Frame::ERRORS.index(error)].pack("NN")))
          end

          def send_head(stream, fields, body)
            stream.head_begins = @composed
            block = @encoder.encode(fields)
            most = [@their.fetch(:max_frame_size), Frame::MOST_BYTES].min
            type = :headers
            flags = body ? 0 : Frame::END_STREAM
            until block.nil?
              piece = block.byteslice(0, most)
              block = block.bytesize > most ? block.byteslice(most..) : nil
              emit(Frame.bytes(type, flags | (block ? 0 : Frame::END_HEADERS), stream.id, piece))
              type = :continuation
              flags = 0
            end
            stream.sent! unless body
            stream.request_ends = @composed if !body || stream.connects
          end

          # Frames data of the stream whose turn it is.
          def frame_data
            id, stream = @senders.first
            @senders.delete(id)
            return unless stream.sends?

            count = [stream.upload.bytesize, @their.fetch(:max_frame_size), Frame::MOST_BYTES, @send_window,
                     stream.send_window].min
            return wait_for_window(stream) if count <= 0 && !stream.upload.empty?

            send_piece(stream, stream.shift_upload(count))
          end

          # A stream that waits for its own window is not a sender until that window opens.
          def wait_for_window(stream)
            @blocked[stream.id] = stream if stream.send_window.positive?
          end

          def send_piece(stream, piece)
            last = stream.body_ended && stream.upload.empty?
            emit(Frame.bytes(:data, last ? Frame::END_STREAM : 0, stream.id, piece))
            @send_window -= piece.bytesize
            stream.send_window -= piece.bytesize
            @idle_frames = 0 unless piece.empty?
            return request_sent(stream) if last
            return @senders[stream.id] = stream unless stream.upload.empty?

            stream.wants_body = true
            mark_changed(stream)
          end

          def request_sent(stream)
            stream.sent!
            stream.request_ends ||= @composed
            close(stream) if stream.ended
          end

          # Called when the connection's window has opened.
          def wake_blocked
            @senders.update(@blocked)
            @blocked = {}
          end
        end
      end
    end
  end
end
