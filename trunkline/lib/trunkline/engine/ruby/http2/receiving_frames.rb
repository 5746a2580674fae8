# frozen_string_literal: true

require_relative "frame"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # The part of Session that handles received frames (RFC 9113 6). A frame without content counts as idle, and too
        # many of these in a row end the connection, so that a server cannot send them forever (RFC 9113 10.5).
        module ReceivingFrames
          # Payload bytes of the frame types with a fixed size.
          SIZES = { priority: 5, rst_stream: 4, ping: 8, window_update: 4 }.freeze
          # Maximum of settings in one frame.
          SETTINGS_MOST = 32
          private_constant :SIZES, :SETTINGS_MOST

          # Handles bytes that were read. Once #fault is set, incomplete streams have failed, and #output contains a
          # GOAWAY.
          def input(bytes)
            return if @fault

            @input = @rest.empty? ? bytes : @rest << bytes
            @at = 0
            take_frame while @fault.nil? && frame?
            @rest = @at.zero? && @input.equal?(@rest) ? @rest : @input.byteslice(@at..)
          rescue Violation => error
            break_off(error)
          ensure
            @input = nil
          end

          private

          def prepare_receiving
            @rest = String.new
            @head = nil
            @section_begins = false # whether the head of a HEADERS frame has arrived, and its stream was not checked
            @idle_frames = @late_data = @uncredited = 0
            @last_processed = 0x7fff_ffff # the highest stream that the server may have processed, as its GOAWAY says
            @any_closed_early = false # whether a stream was closed before its response had ended
            @receive_window = Session::CONNECTION_WINDOW
            @decoder = HeaderDecoder.new
          end

          def break_off(violation)
            @detail = violation.message[0, 255]
            emit_goaway(violation.error_code)
            fail_all(violation.code)
          end

          def protocol_error(words, error = :PROTOCOL_ERROR)
            raise Violation.new(:HTTP2_PROTOCOL, error, words)
          end

          def flood(words) = raise(Violation.new(:HTTP2_FLOOD, :ENHANCE_YOUR_CALM, words))

          # ---- frames ----

          # @return [Boolean] whether a whole frame has arrived
          def frame?
            return false if @head.nil? && !head?

            arrived = @input.bytesize - @at - Frame::HEAD_BYTES
            check_section(arrived) if @section_begins
            arrived >= @head.first
          end

          def head?
            return false if @input.bytesize - @at < Frame::HEAD_BYTES

            high, low, number, flags, id = @input.byteslice(@at, Frame::HEAD_BYTES).unpack("CnCCN")
            @head = [(high << 16) | low, Frame::TYPES[number], flags, id & 0x7fff_ffff]
            check_head(*@head)
            true
          end

          # Makes the checks that need only the head of a frame.
          def check_head(length, type, flags, id)
            check_first(type, flags) unless @settings_begun
            check_form(length, type, flags)
            check_continuation(type, id)
            check_opened(type, id) if type == :data
            @section_begins = type == :headers
            @begun_id = id if @section_begins
            return late_data(length) if type == :data && length.positive? && !@streams.key?(id)

            flood("frames that carry nothing") if (@idle_frames += 1) > Session::IDLE_FRAMES
          end

          def check_form(length, type, flags)
            protocol_error("a frame larger than allowed", :FRAME_SIZE_ERROR) if length > Frame::MOST_BYTES
            protocol_error("PUSH_PROMISE, which SETTINGS forbid") if type == :push_promise
            flood("SETTINGS with too much in them") if type == :settings && length > SETTINGS_MOST * 6
            check_size(type, length, flags)
          end

          # The first frame is SETTINGS (RFC 9113 3.4).
          def check_first(type, flags)
            return @settings_begun = true if type == :settings && flags.nobits?(Frame::ACK)

            older = @input.byteslice(@at, 7) == "HTTP/1."
            raise Violation.new(:HTTP2_NOT_SPOKEN, :PROTOCOL_ERROR,
                                older ? "it answered in HTTP/1" : "it did not begin with SETTINGS")
          end

          # A header section for a stream that has ended is an error as soon as it begins (RFC 9113 5.1): after the
          # length of the padding and the priority (RFC 9113 6.2).
          # @param arrived [Integer] bytes of the frame that have arrived after its head
          def check_section(arrived)
            length, type, flags, id = @head
            before = (flags.anybits?(Frame::PADDED) ? 1 : 0) + (flags.anybits?(Frame::PRIORITY) ? 5 : 0)
            return if arrived < before && arrived < length

            @section_begins = false
            check_opened(type, id)
            stream = @streams[id] or return late_head
            protocol_error("HEADERS behind the end of a stream", :STREAM_CLOSED) if stream.ended
          end

          # Nothing may come between the frames of a header section (RFC 9113 4.3).
          def check_continuation(type, id)
            expected = @section_id && type == :continuation && id == @section_id
            return if @section_id.nil? && type != :continuation

            protocol_error("a header section that others interrupt") unless expected
            flood("CONTINUATION without end") if (@continuations += 1) > Session::CONTINUATIONS
          end

          # Checks that the frame type fits a stream or the connection, and that the client has opened the stream.
          def check_stream_id(type, id)
            case type
            when :settings, :ping, :goaway then protocol_error("#{name_of(type)} on a stream") unless id.zero?
            when :rst_stream then check_opened(type, id)
            when :window_update then check_opened(type, id) unless id.zero?
            when :priority then protocol_error("PRIORITY on no stream") if id.zero?
            end
          end

          def opened?(id) = id.odd? && id < @next_id

          def check_opened(type, id)
            protocol_error("#{name_of(type)} for a stream that was never opened") unless opened?(id)
          end

          def check_size(type, length, flags)
            right = case type
                    when :goaway then length >= 8
                    when :settings then flags.anybits?(Frame::ACK) ? length.zero? : (length % 6).zero?
                    else SIZES.fetch(type, length) == length
                    end
            protocol_error("#{name_of(type)} of #{length} bytes", :FRAME_SIZE_ERROR) unless right
          end

          def name_of(type) = type.to_s.upcase

          def take_frame
            length, type, flags, id = @head
            @begun_id = nil
            check_stream_id(type, id)
            payload = @input.byteslice(@at + Frame::HEAD_BYTES, length)
            @at += Frame::HEAD_BYTES + length
            @head = nil
            send(:"take_#{type}", flags, id, payload) if type
          end

          # ---- parts of frames ----

          def without_padding(flags, payload)
            return payload if flags.nobits?(Frame::PADDED)

            length = payload.getbyte(0)
            protocol_error("more padding than frame") if length.nil? || length >= payload.bytesize
            payload.byteslice(1, payload.bytesize - 1 - length)
          end

          # ---- bodies ----

          # A server may send DATA for a stream before it receives the client's reset, as much as the stream's window
          # allows.
          def late_data(length)
            protocol_error("DATA for a stream that is closed", :STREAM_CLOSED) if length > @late_data
            @late_data -= length
          end

          # After the client has reset a stream, a head that the server sent before it received the reset may arrive.
          def late_head
            protocol_error("HEADERS for a stream that is closed", :STREAM_CLOSED) unless @any_closed_early
          end

          # The connection's window is credited at once, so that a stream that is not read does not block the others;
          # the stream's own window is credited when its call takes the bytes.
          def take_data(flags, id, payload)
            stream = @streams[id]
            protocol_error("DATA beyond the window", :FLOW_CONTROL_ERROR) if payload.bytesize > @receive_window
            credit(payload.bytesize)
            return if stream.nil?

            body = without_padding(flags, payload)
            protocol_error("DATA behind the end of a stream", :STREAM_CLOSED) if stream.ended
            return refuse(stream, :HTTP2_PROTOCOL, :FLOW_CONTROL_ERROR) if payload.bytesize > stream.receive_window

            stream.receive_window -= payload.bytesize
            stream_data(stream, body)
            consumed(stream, payload.bytesize - body.bytesize) # padding
            response_ends(stream) if flags.anybits?(Frame::END_STREAM) && !stream.closed
          end

          def credit(bytes)
            @receive_window -= bytes
            @uncredited += bytes
            return if @uncredited < Session::CONNECTION_WINDOW / 2

            emit(Frame.window_update(0, @uncredited))
            @receive_window += @uncredited
            @uncredited = 0
          end

          def stream_data(stream, body)
            return if body.empty? && stream.begun?
            return refuse(stream, :HTTP2_MALFORMED, :PROTOCOL_ERROR) unless stream.final?

            stream.take_data(body)
            return refuse(stream, :HTTP2_MALFORMED, :PROTOCOL_ERROR) if stream.too_long?

            @idle_frames = 0
            mark_changed(stream)
          end

          def response_ends(stream)
            return refuse(stream, :HTTP2_MALFORMED, :PROTOCOL_ERROR) unless stream.final?
            unless stream.body_complete?
              return refuse(stream, stream.lacks_data? ? :TRUNCATED : :HTTP2_MALFORMED, :PROTOCOL_ERROR)
            end

            stream.ended = true
            stream.wants_body = false
            stream.upload_stopped = true unless stream.request_ends
            mark_changed(stream)
            close(stream) if stream.sent?
          end

          # ---- header sections ----

          def take_headers(flags, id, payload)
            block = without_padding(flags, payload)
            if flags.anybits?(Frame::PRIORITY)
              protocol_error("HEADERS that are cut", :FRAME_SIZE_ERROR) if block.bytesize < 5
              block = block.byteslice(5..)
            end
            @section_id = id
            @section_flags = flags
            @section = block
            @continuations = 0
            header_block if flags.anybits?(Frame::END_HEADERS)
          end

          def take_continuation(flags, _id, payload)
            @section << payload
            header_block if flags.anybits?(Frame::END_HEADERS)
          end

          # Sections of closed streams are decoded too, since they change the header table.
          def header_block
            stream = @streams[@section_id]
            section = stream&.new_section
            @decoder.decode(@section) { |name, value| section&.add(name, value) }
            @section = @section_id = nil
            end_section(stream, section, @section_flags.anybits?(Frame::END_STREAM)) if stream
          end

          def end_section(stream, section, ends_stream)
            fault = stream.take_section(section, ends_stream)
            return refuse(stream, fault, section.error_code) if fault

            @idle_frames = 0
            mark_changed(stream)
            response_ends(stream) if ends_stream
          end

          # ---- the rest ----

          def take_priority(_flags, _id, _payload) = nil

          def take_rst_stream(_flags, id, payload)
            stream = @streams[id] or return
            stream.reset = true
            stream.error_number = payload.unpack1("N")
            refused = Frame.error_word(stream.error_number) == "REFUSED_STREAM"
            stream.unprocessed = refused && !stream.final?
            fail_stream(stream, refused ? :HTTP2_REFUSED : :HTTP2_RESET)
            close(stream)
          end

          def take_ping(flags, _id, payload)
            return emit_reply(Frame.bytes(:ping, Frame::ACK, 0, payload)) if flags.nobits?(Frame::ACK)
            return if @pings_acked == @pings_sent

            @pings_acked += 1
            @idle_frames = 0
          end

          def take_goaway(_flags, _id, payload)
            last, @goaway_number = payload.unpack("NN")
            last &= 0x7fff_ffff
            check_last(last)
            @goaway_received = true
            note_goaway(payload.byteslice(8..))
            @streams.each_value.select { |stream| stream.id > last }.each { |stream| fail_unprocessed(stream) }
          end

          # The last stream is one of the client's, and no higher than in an earlier GOAWAY (RFC 9113 6.8).
          def check_last(id)
            protocol_error("GOAWAY for a stream of the server") if id.even? && id.positive?
            protocol_error("GOAWAY for more streams than before") if id > @last_processed
            @last_processed = id
          end

          def note_goaway(words)
            return if @goaway_number.zero? && words.empty?

            words = words.gsub(/[^ -~]/n, "?").force_encoding(Encoding::US_ASCII)
            @detail = "GOAWAY with #{Frame.error_word(@goaway_number)}#{": #{words}" unless words.empty?}"[0, 255]
          end

          def fail_unprocessed(stream)
            stream.unprocessed = !stream.final?
            stream.error_number = @goaway_number
            fail_stream(stream, :HTTP2_GONE)
            close(stream)
          end

          def take_window_update(_flags, id, payload)
            increment = payload.unpack1("N") & 0x7fff_ffff
            stream = @streams[id]
            return if stream.nil? && !id.zero? # it has ended

            protocol_error("WINDOW_UPDATE of nothing") if increment.zero?
            return open_connection(increment) if stream.nil?

            stream.send_window += increment
            return refuse(stream, :HTTP2_PROTOCOL, :FLOW_CONTROL_ERROR) if stream.send_window > 0x7fff_ffff

            @senders[id] = stream if stream.sends?
          end

          def open_connection(increment)
            @send_window += increment
            protocol_error("a window beyond 2^31", :FLOW_CONTROL_ERROR) if @send_window > 0x7fff_ffff
            wake_blocked
          end

          # ---- SETTINGS ----

          def take_settings(flags, _id, payload)
            return settings_acked if flags.anybits?(Frame::ACK)

            payload.unpack("nN" * (payload.bytesize / 6)).each_slice(2) { |number, value| setting(number, value) }
            @their[:max_concurrent_streams] ||= Session::STREAMS
            @extended_connect = @their[:enable_connect_protocol] == 1 ? :supported : :unsupported
            emit_reply(Frame.bytes(:settings, Frame::ACK, 0))
          end

          def setting(number, value)
            name = Frame::SETTINGS_BY_NUMBER[number] or return
            check_setting(name, value)
            open_streams_by(value - @their[name]) if name == :initial_window_size
            @encoder.table_size = value if name == :header_table_size
            @their[name] = value
          end

          def check_setting(name, value)
            case name
            when :enable_push then protocol_error("it switches push on") unless value.zero?
            when :max_frame_size
              protocol_error("SETTINGS_MAX_FRAME_SIZE of #{value}") unless value.between?(16_384, 0xff_ffff)
            when :enable_connect_protocol
              protocol_error("SETTINGS_ENABLE_CONNECT_PROTOCOL of #{value}") if value > 1
            end
          end

          # Changes the windows of all streams by the difference; they may become negative (RFC 9113 6.9.2).
          def open_streams_by(difference)
            if @their[:initial_window_size] + difference > 0x7fff_ffff
              protocol_error("a window beyond 2^31", :FLOW_CONTROL_ERROR)
            end
            @streams.each_value do |stream|
              stream.send_window += difference
              protocol_error("a window beyond 2^31", :FLOW_CONTROL_ERROR) if stream.send_window > 0x7fff_ffff
              @senders[stream.id] = stream if stream.sends?
            end
          end
        end
      end
    end
  end
end
