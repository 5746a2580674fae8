# frozen_string_literal: true

require_relative "field_section"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Finds the end of a response's body (RFC 9112 6 and 7), however its bytes are split. Nothing is copied: data lies
      # between #from and #to of the input.
      class Framing
        include Redacted

        CHUNK_LINE = /\G([0-9a-fA-F]{1,15})\r\n/n
        MOST_DIGITS = 16
        HIGHEST = 0x7fff_ffff_ffff_ffff
        private_constant :CHUNK_LINE, :MOST_DIGITS, :HIGHEST

        # @return [Boolean] whether a response has no body, whatever its fields say (RFC 9110 6.4.1; RFC 9112 6.3)
        def self.bodiless?(status, head_request)
          head_request || status < 200 || status == 204 || status == 304
        end

        attr_reader :from, :to, :body_bytes, :tolerated
        # @return [Integer] offset from which the input continues
        attr_reader :at

        # @param head [Head]
        # @param limits [HeadLimits]
        def initialize(head, limits)
          @kind = head.framing
          @limits = limits
          @remaining = @kind == :length ? head.content_length : 0
          @state = @kind == :chunked ? :chunk_size : :body
          @body_bytes = @framing_bytes = @digits = @line_extension = @total_extension = 0
          @tolerated = false
        end

        # @return [Boolean] whether the body is complete according to its framing
        def complete?
          case @kind
          when :none then true
          when :length then @remaining.zero?
          when :chunked then @state == :complete
          else false
          end
        end

        # Returns how many bytes of data follow without framing; 0: #next must parse first; NEVER: until the end.
        def unframed_bytes
          return @remaining if @kind == :length || @state == :chunk_data
          return 0 unless @state == :body

          @kind == :close ? NEVER : 0
        end

        # Counts data that was consumed without #next.
        def consumed(count)
          @body_bytes += count
          return if @kind == :close

          @remaining -= count
          @state = :chunk_end_cr if @state == :chunk_data && @remaining.zero?
        end

        # @param input [String]
        # @param at [Integer] offset from which it is read
        # @return [:done, :data, :more]
        # @raise [Failure]
        def next(input, at)
          @at = at
          return :done if complete?

          @kind == :chunked ? chunked(input) : hand_over(input)
        end

        # @param clean [Boolean] whether TLS ended by close_notify
        # @return [Boolean] whether the body is complete when the connection ends
        def ended?(clean) = complete? || (@kind == :close && clean)

        # @return [Array<Array(String, String)>]
        def trailers
          @trailers || [].freeze
        end

        private

        def hand_over(input)
          left = input.bytesize - @at
          count = left < (wanted = unframed_bytes) ? left : wanted
          @from = @at
          @to = @at += count
          consumed(count)
          count.positive? ? :data : :more
        end

        def chunked(input)
          until @state == :complete
            return :more if @at >= input.bytesize
            return hand_over(input) if @state == :chunk_data

            if @state == :trailers
              return :more unless trailer_section(input)
            elsif !usual_line(input)
              step(input.getbyte(@at))
              @at += 1
            end
          end
          :done
        end

        # Parses a line with only a chunk's size, and the line end before it, if all of it has arrived.
        def usual_line(input)
          return unless @state == :chunk_size || @state == :chunk_end_cr
          return if @digits.positive?

          start = @at
          if @state == :chunk_end_cr
            return unless input.getbyte(@at) == 13 && input.getbyte(@at + 1) == 10

            start += 2
          end
          return unless (line = CHUNK_LINE.match(input, start)) && line.begin(0) == start

          @remaining = line[1].hex
          @framing_bytes += line.end(0) - @at
          @line_extension = 0
          @at = line.end(0)
          chunk_line_end
          true
        end

        def step(byte)
          @framing_bytes += 1
          case @state
          when :chunk_size then size_byte(byte)
          when :chunk_extension then extension_byte(byte)
          when :chunk_lf then byte == 10 ? chunk_line_end : raise(Failure, :LINE_END)
          when :chunk_end_cr then end_byte(byte, 13, :chunk_end_lf)
          else
            end_byte(byte, 10, :chunk_size)
            @digits = @line_extension = @remaining = 0
          end
        end

        def end_byte(byte, wanted, state)
          raise Failure, :CHUNK_END unless byte == wanted

          @state = state
        end

        def size_byte(byte)
          digit = byte.chr
          return add_digit(digit.hex) if digit.match?(/\h/)
          raise Failure, :CHUNK_SIZE if @digits.zero?

          case byte
          when 59 then @state = :chunk_extension
          when 13 then @state = :chunk_lf
          when 10 then bare_line_feed
          else
            raise Failure, :CHUNK_SIZE unless @limits.lenient # in strict mode also for white space

            @tolerated = true
            @state = :chunk_extension
          end
        end

        def add_digit(digit)
          raise Failure, :CHUNK_SIZE if @digits == MOST_DIGITS || @remaining > HIGHEST >> 4

          @remaining = (@remaining << 4) | digit
          @digits += 1
        end

        # Net::HTTP accepts a bare line feed as the end of a line.
        def bare_line_feed
          raise Failure, :LINE_END unless @limits.lenient

          @tolerated = true
          chunk_line_end
        end

        # Extensions are ignored, but limited in length, and must be text.
        def extension_byte(byte)
          return @state = :chunk_lf if byte == 13
          return bare_line_feed if byte == 10
          raise Failure, :CHUNK_EXTENSION if (byte < 32 && byte != 9) || byte == 127

          @line_extension += 1
          @total_extension += 1
          fits = @line_extension <= @limits.extension_line && @total_extension <= @limits.extension_total
          raise Failure, :CHUNK_EXTENSION unless fits
        end

        def chunk_line_end
          most = @body_bytes + (Limits::OVERHEAD_SLACK / Limits::OVERHEAD_RATIO)
          raise Failure, :CHUNK_OVERHEAD if @framing_bytes / Limits::OVERHEAD_RATIO > most

          @digits = 0
          return @state = :chunk_data if @remaining.positive?

          @state = :trailers
          @trailer_bytes = "".b
          @section = FieldSection.new(0, @limits)
        end

        # Trailers are not interpreted: a field after the body must not change its framing.
        def trailer_section(input)
          had = @trailer_bytes.bytesize
          added = [input.bytesize - @at, @limits.trailer_bytes - had].min
          @trailer_bytes << input.byteslice(@at, added)
          if @section.parse(@trailer_bytes)
            @at += @section.scan - had
            @trailers = @section.fields(@trailer_bytes)
            @tolerated ||= @section.tolerated
            return @state = :complete
          end
          raise Failure, :TRAILER_TOO_LARGE if had + added == @limits.trailer_bytes

          @at += added
          false
        end
      end
    end
  end
end
