# frozen_string_literal: true

require_relative "header_section"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # One request and its answer on a connection. The session fills it in; its call takes what came.
        class Stream
          include Redacted

          # @return [Integer]
          attr_reader :id
          # @return [Call] which has it
          attr_accessor :call
          # Header sections, 1xx and the final one; of the trailers; body bytes that the call has not taken.
          attr_reader :heads, :data
          attr_accessor :trailers, :body_ended
          # Whether the answer is complete; why nothing more comes (a key of FAILURES), with the number of RST_STREAM or
          # GOAWAY; whether the server has certainly not acted on the request.
          attr_accessor :ended, :fault, :error_number, :unprocessed
          # Whether the server takes no more of the request's body; whether all that was fed is framed.
          attr_accessor :upload_stopped, :wants_body
          # Where its HEADERS begin and its last byte ends, counted in all bytes of the connection; nil: not yet.
          attr_accessor :head_begins, :request_ends
          # How many bytes of the request's body are framed; how many of the answer's came.
          attr_accessor :framed, :received
          # How much the server may send now, and how much we may; what was taken and not credited yet; how much the
          # server may send ahead, and what the stream has of the budget for that.
          attr_accessor :receive_window, :send_window, :uncredited, :flow_window, :window
          # The session's: whether it is forgotten, was reset by the server, is a tunnel (RFC 8441).
          attr_accessor :closed, :reset, :connects, :touched
          # What is fed and not framed yet.
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

          # @return [Boolean] whether the final head came
          def final? = @final ? true : false

          # @return [Boolean] whether a head came, of a 1xx perhaps
          def begun? = final? || @informational.positive?

          # @return [HeaderSection] to be filled in
          def new_section = HeaderSection.new(@limits, final?)

          # @return [Symbol, nil] what is wrong with a section that is complete, or with its place
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

          # @return [Boolean] whether more came than Content-Length says
          def too_long? = !@awaited.negative? && @received > @awaited

          # @return [Boolean] whether its window takes all that is still to come
          def ends_soon? = @awaited.between?(0, @received + @window)

          # @return [Boolean] whether the body may end here
          def whole? = @awaited.negative? || @received == @awaited

          def lacks_data? = !whole? && @received < @awaited

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

          # @return [Boolean] whether it has something to send, if the windows allow it
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

          # A length in them counts as one of the head.
          def misplaced_trailers(section, ends_stream)
            length = section.content_length
            :HTTP2_MALFORMED if !ends_stream || (length >= 0 && (@awaited >= 0 || length != @received))
          end

          # How many bytes must follow: none where there is no body (RFC 9110 6.4.1).
          def take_final(section)
            @final = true
            @awaited = length_of(section)
          end

          def length_of(section)
            return -1 if @connects

            bodiless = @head_request || section.status == 204 || section.status == 304
            bodiless ? 0 : section.content_length
          end
        end
      end
    end
  end
end
