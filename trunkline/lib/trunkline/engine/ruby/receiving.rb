# frozen_string_literal: true

require_relative "codings"
require_relative "framing"
require_relative "head"

module Trunkline
  module Engine
    module Ruby
      # The part of Exchange that reads the response: heads, framing and codings, with the limits on each.
      module Receiving
        # A read of this size contains most responses completely.
        FIRST_READ = 16 * 1024
        BULK_READ = 64 * 1024
        # From this size on, the rest of a plain body is read without the input buffer.
        DIRECT_READ = 16 * 1024
        READS_AT_ONCE = 32
        # Bytes of a coded body that are decoded at once for a caller that reads in pieces.
        DECODE_AT_ONCE = 1024
        NO_HINTS = [].freeze
        private_constant :FIRST_READ, :BULK_READ, :DIRECT_READ, :READS_AT_ONCE, :DECODE_AT_ONCE, :NO_HINTS

        attr_reader :head, :early_hints

        def trailers = @framing ? @framing.trailers : [].freeze

        def any_byte? = @any_byte

        # @return [Boolean] whether a streamed response has data for its caller
        def data? = @streaming && !@body_bytes.empty?

        # @param into [String, nil] receives the bytes
        # @return [String] the body so far, or the next piece of it
        def take_body(into = nil)
          piece = @body_bytes
          if @streaming && piece.bytesize > Limits::PIECE
            @body_bytes = piece.byteslice(Limits::PIECE..)
            piece = piece.byteslice(0, Limits::PIECE)
            return into ? into.replace(piece) : piece
          end
          return take_into(into) if into

          @body_bytes = String.new
          piece
        end

        # The caller of a streamed response keeps the rest of the body, so max_body_bytes limits it.
        def keep_rest
          most = @config.max_body_bytes
          limit = @delivered - @body_bytes.bytesize + most
          @body_limit = limit if most.positive? && (@body_limit.zero? || limit < @body_limit)
        end

        private

        # Does not create a String for each piece.
        def take_into(into)
          into.clear.force_encoding(Encoding::BINARY) << @body_bytes
          @body_bytes.clear
          into
        end

        def prepare_receiving
          @body_limit = @streaming ? @config.max_streamed_bytes : @config.max_body_bytes
          @early_hints = NO_HINTS
          @body_bytes = String.new
          @input = String.new
          @delivered = 0
          @any_byte = false
        end

        def begin_receiving
          @any_byte = false
          @informational = 0
          @at = 0
          @input.clear
          @undecoded = nil
          begin_head(false)
        end

        def begin_head(tolerated)
          @next_head = Head.new(@config.limits, @request.method == "HEAD", @request._upgrades?,
                                @connection.head_lines)
          @next_head.tolerated = tolerated
        end

        def input_empty? = @at == @input.bytesize

        def rest_of_input = @input.byteslice(@at..).tap { @at = @input.bytesize }

        # Reads and parses what has arrived. @return [Symbol] :wait, :hints, :head, :data or :done
        # @raise [Failure]
        def receive(now)
          @events = :read
          reads = 0
          while reads <= READS_AT_ONCE
            result = @head || !input_empty? ? parse_input(now) : :wait
            return result unless result == :wait
            break if reads.positive? && !@again

            result = read_more(now)
            return result if result == :done
            break unless result == :came

            reads += 1
          end
          data? ? :data : :wait
        end

        # @return [Symbol] :came, :done or the event to wait for
        def read_more(now)
          @again = false
          came = read_some(now)
          return complete_head ? :came : at_end if came == :ended

          @events = :write if came == :wait_writable
          came
        end

        def parse_input(now)
          if @head.nil?
            result = take_head(now)
            return result unless result == :go_on
          end
          result = take_body_bytes
          return result unless result == :done

          @codings&.finish
          :done
        rescue Failure => error
          raise described(error)
        end

        # ---- the head ----

        # @return [Symbol] :go_on when the final head has arrived
        def take_head(now)
          until input_empty?
            return :wait unless @next_head.parse(@input)
            return final_head(now) if final?

            hints = informational(now)
            return :hints if hints
          end
          :wait
        end

        def final? = @next_head.status >= 200 || (@next_head.status == 101 && @request._upgrades?)

        # After a 1xx the timeout of the phase starts anew. @return [Boolean] whether the caller wants its early hints
        def informational(now)
          head = @next_head
          @input = @input.byteslice(head.length..)
          hints = informational_head(head, now)
          begin_head(head.tolerated)
          raise Failure, :INFORMATIONAL_LIMIT if (@informational += 1) > @config.limits.informational

          hints
        end

        # Also used for HTTP/2.
        def informational_head(head, now)
          @early_hints += [head.fields] if head.status == 103
          if head.status == 100 && @awaits_continue
            @awaits_continue = false
            @again = true
          end
          enter(@request_done ? :first_byte : :write, now)
          head.status == 103 && !@request._early_hints.nil?
        end

        def final_head(now)
          @at = @next_head.length
          @framing = Framing.new(@next_head, @config.limits)
          accept_head(now)
        end

        # Also used for HTTP/2.
        def accept_head(now)
          @head = @next_head
          cut_request(now) if !@request_done && (@head.status >= 300 || @awaits_continue)
          if @body_limit.positive? && @head.framing == :length && @head.content_length > @body_limit
            raise Failure, :BODY_TOO_LARGE
          end

          start_decoding
          @streaming ? :head : :go_on
        end

        def start_decoding
          return if @head.framing == :none || !@config.decode? || !@head.coded?

          values = values_of("content-encoding")
          lenient = @config.limits.lenient
          # Net::HTTP does not decode a partial response.
          return if lenient && !values_of("content-range").empty?

          @codings = Codings.for(values, @body_limit, @config.max_decode_ratio, lenient)
        end

        def values_of(name)
          size = name.bytesize
          @head.fields.filter_map { |one, value| value if one.bytesize == size && one.casecmp?(name) }
        end

        # ---- the body ----

        def enough? = @streaming && @body_bytes.bytesize >= Limits::PIECE

        def take_body_bytes
          framing = @framing
          until enough?
            next decode_more if @undecoded

            result = framing.next(@input, @at)
            @at = framing.at
            return result if result == :done
            return :wait if result == :more

            deliver(@input.byteslice(framing.from, framing.to - framing.from))
          end
          :data
        end

        def deliver(piece)
          return @undecoded = piece if @codings && @streaming

          @codings ? @codings.feed(piece) { |bytes| add(bytes) } : add(piece)
        end

        # Decodes a part of the received bytes.
        def decode_more
          part = @undecoded.byteslice(0, DECODE_AT_ONCE)
          rest = @undecoded.byteslice(DECODE_AT_ONCE..)
          @undecoded = rest unless rest.nil? || rest.empty?
          @undecoded = nil if rest.nil? || rest.empty?
          @codings.feed(part) { |bytes| add(bytes) }
        end

        def add(bytes)
          count_delivered(bytes.bytesize)
          @body_bytes.empty? ? @body_bytes = bytes : @body_bytes << bytes
        end

        def count_delivered(bytes)
          @delivered += bytes
          return unless @body_limit.positive? && @delivered > @body_limit

          @body_bytes = String.new # no byte beyond the limit may reach the caller
          raise Failure, :BODY_TOO_LARGE
        end

        # ---- reading ----

        # @return [Symbol] :came, :ended, :wait_readable or :wait_writable
        def read_some(now)
          expected = @head && @codings.nil? && input_empty? ? @framing.unframed_bytes : 0
          direct = expected >= DIRECT_READ
          came = direct ? read_direct(expected) : read_input
          return came || :ended if came.nil? || came.is_a?(Symbol)

          @again = true
          first_byte(now) unless @any_byte
          enter(:read, now)
          :came
        rescue Failure => error
          raise read_failure(error)
        end

        def read_input
          if input_empty?
            @input = String.new if @at.positive?
            @at = 0
            return @connection.io.read(@head ? BULK_READ : FIRST_READ, @input)
          end
          came = @connection.io.read(@head ? BULK_READ : FIRST_READ, scratch)
          if came.is_a?(String)
            @input = @input.byteslice(@at..) if @at.positive?
            @at = 0
            @input << came
          end
          came
        end

        def read_direct(expected)
          room = @streaming ? Limits::PIECE - @body_bytes.bytesize : BULK_READ
          came = @connection.io.read([expected, BULK_READ, room].min, scratch)
          return came unless came.is_a?(String)

          @framing.consumed(came.bytesize)
          count_delivered(came.bytesize)
          @body_bytes << came
          came
        end

        def scratch = @scratch ||= String.new

        def first_byte(now)
          @any_byte = true
          @timings.first_byte = now - (@request_done ? @sent_at : @sending_began)
        end

        # ---- ends ----

        # The connection has ended: this either completes the body, or is an error.
        def at_end
          clean = !@connection.io.truncated?
          if @head
            raise described(cut_short(clean ? :TRUNCATED : :TRUNCATED_TLS)) unless @framing.ended?(clean)

            @codings&.finish
            return :done
          end
          raise @write_failure if @write_failure && !@any_byte
          raise described(Failure.new(:CLOSED)) if @input.empty?

          raise described(cut_short(clean ? :TRUNCATED_HEAD : :TRUNCATED_HEAD_TLS))
        end

        # Completes a head in which the connection has ended, if Net::HTTP accepts that.
        def complete_head
          return if @head || @input.empty? || !(missing = @next_head.missing_end)

          @input << missing
          @next_head.tolerated = true
          @again = true
        end

        def read_failure(failure)
          midway = @head || !@input.empty?
          return described(failure) unless midway && failure.code == :RESET

          described(cut_short(@head ? :TRUNCATED : :TRUNCATED_HEAD, failure.errno))
        end

        def cut_short(code, errno = 0)
          came = @head ? @framing.body_bytes : @input.bytesize
          detail = if @head&.framing == :length then "#{came} of #{@head.content_length} bytes came"
                   elsif @head || came.positive? then "#{came} bytes of it came"
                   else
                     ""
                   end
          Failure.new(code, detail, errno: errno)
        end

        # Adds the limit that was exceeded, by its option's name if it has one, or the bytes received in place of a
        # status line.
        def described(failure)
          return failure if failure.code == :CANCELLED

          detail = failure.detail.empty? ? explanation(failure.code) : failure.detail
          Failure.new(failure.code, detail, phase: @any_byte ? :read : :first_byte, errno: failure.errno)
        end

        def explanation(code)
          case code
          when :STATUS_LINE then Head.quote(@input)
          when :BODY_TOO_LARGE then "max_body_bytes: #{@config.max_body_bytes}"
          when :CODING_RATIO then "max_decode_ratio: #{@config.max_decode_ratio}"
          when :HEAD_TOO_LARGE then "max_header_bytes: #{@config.limits.head_bytes}"
          when :TOO_MANY_FIELDS then "max_headers: #{@config.limits.fields}"
          when :TRAILER_TOO_LARGE then "at most #{@config.limits.trailer_bytes} bytes"
          when :INFORMATIONAL_LIMIT then "at most #{@config.limits.informational}"
          when :CODING_CHAIN then "at most #{Limits::CODINGS}"
          else ""
          end
        end
      end
    end
  end
end
