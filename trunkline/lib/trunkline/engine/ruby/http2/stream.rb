# frozen_string_literal: true

require_relative "header_section"
require_relative "../framing"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # One request and its response on an HTTP/2 connection. The Session fills it in; its Call takes the received
        # data.
        class Stream
          include Redacted

          # @return [Integer]
          attr_reader :id
          # @return [Call] the call that the stream belongs to
          attr_accessor :call
          # Header sections of 1xx responses and of the final one; body bytes that the call has not taken; the section
          # of the trailers.
          attr_reader :heads, :data
          attr_accessor :trailers, :body_ended
          # Whether the response is complete; why no more of it arrives (a key of FAILURES), with the error code of
          # RST_STREAM or GOAWAY; whether the server has certainly not processed the request.
          attr_accessor :ended, :fault, :error_number, :unprocessed
          # Whether the server accepts no more of the request's body; whether more of the body may be fed.
          attr_accessor :upload_stopped, :wants_body
          # Offsets of the first byte of its HEADERS and of the end of the request, in all bytes of the connection; nil:
          # not yet.
          attr_accessor :head_begins, :request_ends
          # Bytes of the request's body that are framed, and bytes of the response's body that have arrived.
          attr_accessor :framed, :received
          # Bytes that the server may send now, and that the client may send; bytes that were taken but not credited
          # yet; bytes that the server may send ahead, and the bytes of the budget that are reserved for them.
          attr_accessor :receive_window, :send_window, :uncredited, :flow_window, :window
          # For the Session: whether the stream is closed, was reset by the server, is a tunnel (RFC 8441), is queued as
          # changed.
          attr_accessor :closed, :reset, :connects, :changed
          # Bytes of the request's body that were fed but are not framed yet.
          attr_reader :upload

          # @param limits [HeadLimits]
          # @param head_request [Boolean] whether the method is HEAD
          def initialize(id, call, limits, head_request)
            @id = id
            @call = call
            @limits = limits
            @head_request = head_request
            @heads = []
            @data = String.new
            @upload = String.new
            @framed = @received = @uncredited = @informational = 0
            @awaited = -1
          end

          # @return [Boolean] whether the final head has arrived
          def final? = @final ? true : false

          # @return [Boolean] whether a head has arrived, possibly of a 1xx
          def begun? = final? || @informational.positive?

          # @return [HeaderSection] to be filled in
          def new_section = HeaderSection.new(@limits, final?)

          # @return [Symbol, nil] the fault of a complete section, or of its position
          def take_section(section, ends_stream)
            section.complete
            fault = section.fault || misplaced(section, ends_stream)
            return fault if fault

            if final? then @trailers = section
            else
              @heads << section
              take_final(section) unless section.informational?
            end
            nil
          end

          def take_data(bytes)
            @received += bytes.bytesize
            @data << bytes unless too_long?
          end

          # @return [Boolean] whether more bytes arrived than Content-Length says
          def too_long? = !@awaited.negative? && @received > @awaited

          # @return [Boolean] whether its window covers all bytes that are still expected
          def ends_soon? = @awaited.between?(0, @received + @window)

          # @return [Boolean] whether the body may end here
          def body_complete? = @awaited.negative? || @received == @awaited

          def lacks_data? = !body_complete? && @received < @awaited

          # @param most [Integer]
          # @return [String] bytes of the body
          def shift_data(most)
            if @data.bytesize <= most
              taken = @data
              @data = String.new
              return taken
            end
            taken = @data.byteslice(0, most)
            @data = @data.byteslice(most..)
            taken
          end

          # @return [String] the next bytes of the request's body
          def shift_upload(count)
            piece = @upload.byteslice(0, count)
            @upload = count == @upload.bytesize ? String.new : @upload.byteslice(count..)
            @framed += count
            piece
          end

          # @return [Boolean] whether it has something to send when the windows allow it
          def sends? = !@closed && (!@upload.empty? || (@body_ended && !sent?))

          # @return [Boolean] whether the request is framed to its end
          def sent? = @sent ? true : false

          def sent! = @sent = true

          private

          def misplaced(section, ends_stream)
            return misplaced_trailers(section, ends_stream) if final?
            return (:HTTP2_MALFORMED if ends_stream && length_of(section).positive?) unless section.informational?
            return :HTTP2_MALFORMED if ends_stream

            :INFORMATIONAL_LIMIT if (@informational += 1) > @limits.informational
          end

          # A Content-Length in the trailers counts as one in the head: it must be the only one, and match the body.
          def misplaced_trailers(section, ends_stream)
            length = section.content_length
            :HTTP2_MALFORMED if !ends_stream || (length >= 0 && (@awaited >= 0 || length != @received))
          end

          # Sets how many body bytes must follow: none in a response without a body (RFC 9110 6.4.1).
          def take_final(section)
            @final = true
            @awaited = length_of(section)
          end

          def length_of(section)
            return -1 if @connects

            Framing.bodiless?(section.status, @head_request) ? 0 : section.content_length
          end
        end
      end
    end
  end
end
