# frozen_string_literal: true

require_relative "../field_section"
require_relative "header_compression"
require_relative "receiving_frames"
require_relative "request_headers"
require_relative "sending_frames"
require_relative "stream"
require_relative "windows"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # The client side of an HTTP/2 connection (RFC 9113), without sockets and clocks: #input handles the bytes that
        # were read, #output returns the bytes to be written, and each Stream keeps what arrived for it. Callers that
        # share a Session must use a lock.
        class Session
          include Redacted
          include ReceivingFrames
          include SendingFrames
          include Windows

          # The receive window of the connection in bytes.
          CONNECTION_WINDOW = 16 * 1024 * 1024
          HEADER_LIST = 64 * 1024
          # Maximum of concurrent streams, whatever the server allows; and before its SETTINGS have arrived.
          STREAMS = 1000
          STREAMS_AT_FIRST = 100
          # Maximum of consecutive frames without content.
          IDLE_FRAMES = 10_000
          # Maximum of CONTINUATION frames in one header section.
          CONTINUATIONS = 64
          LAST_ID = 0x7fff_ffff
          private_constant :LAST_ID

          # Named as in docs/limits.md.
          BOUNDS = { http2_streams: STREAMS, http2_stream_window: FULL, http2_narrow_window: NARROW,
                     http2_connection_window: CONNECTION_WINDOW, http2_header_list: HEADER_LIST,
                     http2_idle_frames: IDLE_FRAMES, http2_continuations: CONTINUATIONS }.freeze

          # @return [Symbol, nil] why the connection has failed: a key of FAILURES
          attr_reader :fault
          # @return [String] what the server did wrong, or the message of its GOAWAY
          attr_reader :detail
          # @return [Integer] PINGs that the server has acknowledged
          attr_reader :pings_acked
          # @return [Symbol, nil] whether the server accepts extended CONNECT (RFC 8441 3): :supported or :unsupported;
          #   nil: its SETTINGS have not arrived
          attr_reader :extended_connect

          def initialize
            @streams = {}
            @changed = []
            @next_id = 1
            @detail = ""
            @goaway_sent = @goaway_received = false
            @pings_sent = @pings_acked = 0
            prepare_receiving
            prepare_sending
            prepare_windows
            send_preface
          end

          # @return [Integer] number of open streams
          def open_streams = @streams.size

          # @return [Integer] maximum of concurrent streams
          def max_streams = [@their.fetch(:max_concurrent_streams, STREAMS_AT_FIRST), STREAMS].min

          # @return [Boolean] whether no stream may be opened any more
          def closing? = !@fault.nil? || @goaway_sent || @goaway_received || @next_id > LAST_ID

          def room? = !closing? && open_streams < max_streams

          # Opens a stream, and adds its HEADERS to the output.
          #
          # @param call [Call]
          # @param headers [RequestHeaders]
          # @param body [Boolean] whether #feed follows
          # @return [Stream, nil] nil: no stream may be opened, or the budget has no room for its window
          def open(call, headers, body:, head_request:, limits:)
            return unless room? && (window = reserve_window)

            stream = Stream.new(@next_id, call, limits, head_request)
            @next_id += 2
            stream.window = stream.flow_window = stream.receive_window = window
            stream.send_window = @their.fetch(:initial_window_size)
            stream.connects = headers.connects?
            stream.wants_body = body
            stream.body_ended = !body
            @streams[stream.id] = stream
            send_head(stream, headers.fields, body)
            stream
          end

          # Cancels a stream: it is reset if it is not complete, and data that arrives for it later is dropped.
          def release(stream)
            stream.call = nil
            return release_window(stream) if stream.closed

            # Until the rest of the section has arrived, the server may send no head of another stream (RFC 9113 4.3).
            submit_goaway if within_section?(stream)
            # A tunnel that the client has ended is not cancelled (RFC 8441 5).
            ended = stream.connects && stream.body_ended && stream.upload.empty?
            reset(stream, ended ? :NO_ERROR : :CANCEL)
          end

          # @return [Call, nil] the next call whose stream has changed
          def next_changed
            while (stream = @changed.shift)
              stream.changed = false
              return stream.call if stream.call
            end
          end

          # The connection has ended or failed: incomplete streams fail.
          # @param fault [Symbol]
          def end_with(fault)
            return if @fault

            with_error = @goaway_received && @goaway_number != 0
            lost = %i[CLOSED RESET].include?(fault)
            fail_all(lost && with_error ? :HTTP2_GONE : fault)
          end

          # Resets the count of frames without content; must be called every few seconds.
          def reset_idle_frame_count = @idle_frames = 0

          private

          def mark_changed(stream)
            return if stream.changed || stream.call.nil?

            stream.changed = true
            @changed << stream
          end

          def fail_stream(stream, fault)
            return if stream.ended || stream.fault

            stream.fault = fault
            stream.wants_body = false
            mark_changed(stream)
          end

          # Removes a stream that both sides have ended, or that was reset.
          def close(stream)
            return if stream.closed

            expect_late_frames unless stream.ended || stream.reset
            stream.closed = true
            @streams.delete(stream.id)
            stream.upload_stopped = true unless stream.request_ends
            stream.wants_body = false
            release_window(stream) if stream.call.nil?
            mark_changed(stream)
          end

          # Frames that the server sends before it receives the reset are ignored.
          def expect_late_frames
            @late_data += FULL
            @any_closed_early = true
          end

          # @param error [Symbol] one of Frame::ERRORS
          def reset(stream, error)
            emit_reply(Frame.reset(stream.id, error))
            close(stream)
          end

          def refuse(stream, fault, error)
            fail_stream(stream, fault)
            reset(stream, error)
          end

          def fail_all(fault)
            @fault ||= fault
            @streams.each_value.to_a.each do |stream|
              stream.unprocessed ||= unwritten?(stream)
              stream.error_number ||= @goaway_number
              fail_stream(stream, cut_reason(stream))
              close(stream)
            end
          end

          # Returns the failure that says whether and where the response was cut.
          def cut_reason(stream)
            return @fault unless %i[CLOSED RESET].include?(@fault)
            return :TRUNCATED if stream.final?

            within_section?(stream) ? :TRUNCATED_HEAD : @fault
          end

          def within_section?(stream) = [@section_id, @begun_id].include?(stream.id)
        end
      end
    end
  end
end
