# frozen_string_literal: true

require_relative "failures"

module Trunkline
  module Engine
    module Ruby
      # The part of Exchange that sends the request: the head and a small body in one write; then the rest as the socket
      # accepts it, or as the caller provides it.
      module Sending
        # The largest body that is sent with the head in one write.
        JOINED_BODY = 16_384
        PROGRESS_EVERY = 0.1
        PROGRESS_PIECE = 1024 * 1024
        LAST_CHUNK = "0\r\n\r\n".b.freeze
        private_constant :JOINED_BODY, :PROGRESS_EVERY, :PROGRESS_PIECE, :LAST_CHUNK

        attr_reader :fed_bytes

        # @return [Boolean] whether the server can have received a part of the request's body
        def body_begun? = @body_begun

        # Adds the next piece of the request's body after :body_wanted; nil: the body is complete.
        # @param piece [String, nil]
        def feed(piece)
          chunked = @request.content_length.negative? && !@http2
          @piece_wanted = false
          if piece.nil?
            @body_queued = true
            next_segment(chunked ? LAST_CHUNK : "") if chunked || @http2
            return
          end
          @fed_bytes += piece.bytesize
          piece = piece.b if piece.encoding != Encoding::BINARY
          next_segment(chunked ? "#{piece.bytesize.to_s(16)}\r\n".b << piece << "\r\n" : piece)
          @body_queued = !@request.content_length.negative? && @fed_bytes >= @request.content_length
        end

        # Must be called after :progress.
        # @return [Array(Integer, Boolean)] bytes of the body that were passed to the connection; whether this attempt
        #   sends no more
        def progress
          @progress_due = false
          @progress_at = Ruby.now + PROGRESS_EVERY
          [@body_sent, @request_done]
        end

        # @return [Boolean] whether #progress must be called
        def progress_due? = @progress_due

        # @return [:none, :partial, :all] how much of the request the server can have received
        def sent
          return @http2.sent_so_far if @http2
          return :all if @request_done && !@request_cut

          @sent_bytes.positive? || @connection&.io&.partial_record? ? :partial : :none
        end

        private

        def prepare_sending
          content = @request.content
          @body = content if content.is_a?(String)
          @fed_bytes = @sent_bytes = @body_sent = 0
          @reports_progress = !@request.progress.nil?
          @progress_at = 0.0
          @request_done = @request_cut = @body_begun = @progress_due = false
        end

        # @return [Boolean] whether the caller provides the body in pieces
        def fed? = @body.nil? && !@request.content.nil?

        # @return [Boolean] whether to wait for 100 (Continue) before the body
        def expects? = @request._expects? && @config.expect.positive? && @request.content_length != 0

        def begin_sending(now)
          @sent_bytes = @body_sent = 0
          @progress_due = @reports_progress
          @request_done = @request_cut = @piece_wanted = @body_begun = @poll_first = false
          @write_failure = nil
          @awaits_continue = expects?
          @sending_began = now
          next_segment(first_segment)
          enter(:write, now)
        end

        # Builds a BINARY copy, since the caller's body may have another encoding.
        def first_segment
          head = @request._head
          @body_queued = @request.content_length.zero?
          return head if @body.nil? || expects? || @body.bytesize > JOINED_BODY

          @body_queued = true
          head.b << (@body.encoding == Encoding::BINARY ? @body : @body.b)
        end

        def next_segment(bytes)
          @segment = bytes
          @segment_sent = 0
        end

        # Sends as much as possible without waiting. @return [Symbol, nil] the event to wait for
        def send_some(now)
          return if @piece_wanted

          check_fed
          wanted = send_segment(now)
          wanted = send_segment(now) while wanted.nil? && more_to_send?
          wanted
        end

        def send_segment(now)
          while @segment_sent < @segment.bytesize
            count = write_piece
            return count unless count.is_a?(Integer)

            @segment_sent += count
            @sent_bytes += count
            note_body
            enter(:write, now)
            return :wait_writable if @progress_due && @segment_sent < @segment.bytesize
          end
          nil
        rescue Failure => error
          write_failed(error, now)
        end

        def write_piece
          left = @segment.bytesize - @segment_sent
          left = PROGRESS_PIECE if @reports_progress && left > PROGRESS_PIECE
          whole_segment = @segment_sent.zero? && left == @segment.bytesize
          @connection.io.write(whole_segment ? @segment : @segment.byteslice(@segment_sent, left))
        end

        # Prepares the next segment. @return [Boolean] false: there is none for now
        def more_to_send?
          if @body_queued
            request_sent
            return false
          end
          return false if @awaits_continue
          return want_piece if fed?

          next_segment(@body)
          @body_queued = true
        end

        def want_piece
          @piece_wanted = true
          false
        end

        def request_sent
          # The first_byte timeout starts with the last byte sent, not with the step.
          now = Ruby.now
          @request_done = true
          @progress_due = @reports_progress
          @sent_at = now
          @timings.write = now - @sending_began
          return if any_byte?

          enter(:first_byte, now)
          @poll_first = true
        end

        # A response may have arrived although the write failed (RFC 9112 9.5), so it is read first.
        def write_failed(failure, now)
          @write_failure = failure
          cut_request(now)
          enter(:write, now)
          nil
        end

        # Stops sending an incomplete request: the connection cannot be reused.
        def cut_request(now)
          @request_done = @request_cut = true
          @progress_due = @reports_progress
          @piece_wanted = @awaits_continue = false
          @sent_at = now
        end

        # With a wrong length the server would read the next request as a part of this one.
        def check_fed
          declared = @request.content_length
          return if !fed? || declared.negative?

          if @fed_bytes > declared
            raise Failure.new(:BODY_LONG, "#{declared} bytes were declared", phase: :write)
          elsif @body_queued && @fed_bytes < declared
            raise Failure.new(:BODY_SHORT, "#{@fed_bytes} of #{declared} bytes were given", phase: :write)
          end
        end

        # Counts the bytes of the body that were sent, without the head and chunk framing; framing that is not sent yet
        # is counted as part of the body.
        def note_body
          bytes = if fed? then @fed_bytes - (@segment.bytesize - @segment_sent)
                  else
                    @sent_bytes - @request._head.bytesize
                  end
          return if bytes <= @body_sent

          @body_sent = bytes
          @body_begun = true
          @progress_due = @reports_progress && Ruby.now >= @progress_at
        end
      end
    end
  end
end
