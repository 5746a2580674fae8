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
        # A client's side of a connection (RFC 9113), without sockets and clocks: #input takes what was read, #output
        # gives what is to be written, and what came for a stream is kept in it. Whoever shares one locks it.
        class Session
          include Redacted
          include ReceivingFrames
          include SendingFrames
          include Windows

          # Bytes that may be in flight on the connection.
          CONNECTION_WINDOW = 16 * 1024 * 1024
          HEADER_LIST = 64 * 1024
          # At once, whatever the server allows; and before its SETTINGS are there.
          STREAMS = 1000
          STREAMS_AT_FIRST = 100
          # Consecutive frames without content.
          IDLE_FRAMES = 10_000
          # CONTINUATION frames in one header section.
          CONTINUATIONS = 64
          LAST_ID = 0x7fff_ffff
          private_constant :LAST_ID

          # As docs/limits.md has them.
          BOUNDS = { http2_streams: STREAMS, http2_stream_window: FULL, http2_narrow_window: NARROW,
                     http2_connection_window: CONNECTION_WINDOW, http2_header_list: HEADER_LIST,
                     http2_idle_frames: IDLE_FRAMES, http2_continuations: CONTINUATIONS }.freeze

          # @return [Symbol, nil] why the connection has failed: a key of FAILURES
          attr_reader :fault
          # @return [String] what the server did wrong, or what its GOAWAY said
          attr_reader :detail
          # @return [Integer] PINGs that the server has acknowledged
          attr_reader :pings_answered
          # @return [Symbol, nil] whether the server takes extended CONNECT (RFC 8441 3): :accepted, :declined; nil: it
          #   has not said so yet
          attr_reader :extended_connect

          def initialize
            @streams = {}
            @touched = []
            @next_id = 1
            @detail = ""
            @goodbye = @goaway = false
            @pings_out = @pings_answered = 0
            prepare_receiving
            prepare_sending
            prepare_windows
            introduce
          end

          # @return [Integer] how many streams are open
          def open_streams = @streams.size

          # @return [Integer] how many may be at once
          def most_streams = [@their.fetch(:max_concurrent_streams, STREAMS_AT_FIRST), STREAMS].min

          # @return [Boolean] whether no stream may be opened any more
          def closing? = !@fault.nil? || @goodbye || @goaway || @next_id > LAST_ID

          def room? = !closing? && open_streams < most_streams

          # Opens a stream, whose HEADERS #output gives.
          #
          # @param call [Call]
          # @param headers [RequestHeaders]
          # @param body [Boolean] whether #feed follows
          # @return [Stream, nil] nil: there is no room for it, or none for its answer
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

          # Gives a stream up: what is not complete is reset, and what still comes for it is dropped.
          def release(stream)
            stream.call = nil
            return release_window(stream) if stream.closed

            # Until the rest of the section has come, no head of another stream may (RFC 9113 4.3).
            say_goodbye if within_section?(stream)
            # Of a tunnel that has ended on our side nothing is cancelled (RFC 8441 5).
            ended = stream.connects && stream.body_ended && stream.upload.empty?
            reset(stream, ended ? :NO_ERROR : :CANCEL)
          end

          # @return [Call, nil] the next one for whose stream something has changed
          def next_touched
            while (stream = @touched.shift)
              stream.touched = false
              return stream.call if stream.call
            end
          end

          # The connection has ended or broken: incomplete streams fail.
          # @param fault [Symbol]
          def end_with(fault)
            return if @fault

            told = @goaway && @goaway_number != 0
            lost = %i[CLOSED RESET].include?(fault)
            fail_all(lost && told ? :HTTP2_GONE : fault)
          end

          # Counts of what a server may send without content begin anew; to be called every few seconds.
          def calm = @idle_frames = 0

          private

          def touch(stream)
            return if stream.touched || stream.call.nil?

            stream.touched = true
            @touched << stream
          end

          def fail_stream(stream, fault)
            return if stream.ended || stream.fault

            stream.fault = fault
            stream.wants_body = false
            touch(stream)
          end

          # Forgets a stream that both sides have ended, or that was reset.
          def close(stream)
            return if stream.closed

            left_early unless stream.ended || stream.reset
            stream.closed = true
            @streams.delete(stream.id)
            stream.upload_stopped = true unless stream.request_ends
            stream.wants_body = false
            release_window(stream) if stream.call.nil?
            touch(stream)
          end

          # What the server sends before it knows of that is passed over.
          def left_early
            @late_bytes += FULL
            @any_left_early = true
          end

          # @param error [Symbol] of Frame::ERRORS
          def reset(stream, error)
            emit_answer(Frame.reset(stream.id, error))
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

          # Was the answer cut, and where?
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
