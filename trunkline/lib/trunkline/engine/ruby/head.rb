# frozen_string_literal: true

require_relative "head_lines"
require_relative "field_section"
require_relative "framing"
require_relative "../../comma_list"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The head of a response (RFC 9112 4 to 6): status line, fields, and the framing that they define. Strict; with
      # HeadLimits#lenient it accepts what Net::HTTP accepts.
      class Head
        include Redacted

        TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/n
        # Names that are known to be tokens: a look-up is much faster than a match.
        NAMES = %w[
          Accept-Ranges Access-Control-Allow-Origin Age Allow Cache-Control Connection Content-Disposition
          Content-Encoding Content-Language Content-Length Content-Type Date ETag Etag Expires Keep-Alive Last-Modified
          Link Location Pragma Retry-After Server Server-Timing Set-Cookie Strict-Transport-Security Transfer-Encoding
          Vary Via X-Cache X-Content-Type-Options X-Frame-Options X-Powered-By X-Request-Id X-Request-ID X-Runtime
          X-XSS-Protection
        ].flat_map { |name| [name, name.downcase] }.to_h { |name| [name, true] }.freeze
        # Characters that no line may contain before its CRLF.
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        NO_DIGIT = /[^0-9]/n
        # With or without a reason.
        USUAL_STATUS = %r{\AHTTP/1\.[01] [1-9]\d\d(?: |\z)}n
        LINE_END = "\r\n"
        SHAPE = "HTTP/1.x d00"
        QUOTED_BYTES = 24
        LENIENT_STATUS = %r{\AHTTP(?:/(\d+)\.(\d+))?[ \t]+([1-9]\d\d)(?!\d)(?:[ \t]+([^\n]*?)|[ \t]*)\r?\n}in
        private_constant :TOKEN, :NAMES, :CONTROL, :NO_DIGIT, :USUAL_STATUS, :LINE_END, :SHAPE, :QUOTED_BYTES,
                         :LENIENT_STATUS

        # Quotes the beginning of a malformed head, for a message.
        # @param bytes [String]
        # @return [String] the first bytes in quotes, those that are not printable as \xNN
        def self.quote(bytes)
          first = bytes.byteslice(0, QUOTED_BYTES).b
          "\"#{first.gsub(/[^ -~]|["\\]/n) { |byte| format('\x%02X', byte.ord) }}\""
        end

        attr_reader :status, :minor_version, :fields, :length, :framing, :content_length, :keep_alive_timeout,
                    :given_reason
        # Whether a deviation from the grammar was accepted: then the connection is not reused.
        attr_accessor :tolerated

        # @param limits [HeadLimits]
        # @param head_request [Boolean] whether the request is a HEAD
        # @param may_switch [Boolean] whether a 101 is allowed
        # @param known [HeadLines] of the connection
        def initialize(limits, head_request, may_switch, known = HeadLines.new)
          @limits = limits
          @head_request = head_request
          @may_switch = may_switch
          @known = known
          @content_length = -1
          @keep_alive_timeout = -1
          @tolerated = false
          @close = @keep_alive = @chunked = @coded = false
          @codings = 0
        end

        def reason = @given_reason || "".encode(Encoding::US_ASCII)

        # @return [Boolean] whether the connection may be used again once the body is complete
        def persistent?
          !@close && !@tolerated && (@minor_version == 1 || @keep_alive) && @framing != :close
        end

        # @param bytes [String] all bytes of the head so far; after false, called again with more bytes appended
        # @return [Boolean] whether the head is complete: the first #length bytes
        # @raise [Failure]
        def parse(bytes)
          return true if @section.nil? && @status.nil? && usual(bytes)

          parse_slowly(bytes)
        end

        # @return [Boolean] whether it has a Content-Encoding
        def coded? = @coded

        # Returns the bytes that complete a head in which the connection ended, since Net::HTTP accepts it; nil if none
        # do.
        def missing_end
          @section&.missing_end if @limits.lenient
        end

        # See Framing.bodiless?.
        def bodiless? = Framing.bodiless?(@status, @head_request)

        private

        # Parses most heads, which arrive in one piece: status line, fields, empty line. A head that it accepts gives
        # the same result in #parse_slowly.
        def usual(bytes)
          stop = bytes.index("\r\n\r\n") or return false
          return false if stop + 4 > @limits.head_bytes

          lines = bytes.byteslice(0, stop).split(LINE_END)
          return false if lines.size > @limits.fields + 1 || lines.empty?

          status = @known.status(lines.first) || usual_status(lines.first) or return false
          fields = fields_of(lines) or return false
          @minor_version, @status, @given_reason = status
          complete(fields, stop + 4)
          true
        end

        # @return [Array(Integer, Integer, String), nil] see HeadLines#status; nil: not a valid status line
        def usual_status(line)
          return unless USUAL_STATUS.match?(line) && !CONTROL.match?(line)

          reason = FieldSection.text(line.byteslice(13..)) if line.bytesize > 12
          @known.keep_status(line, line.getbyte(7) - 48, line.byteslice(9, 3).to_i, reason)
        end

        # @return [Array<Array(String, String)>, nil] nil: a line is not a name, a colon and a value
        def fields_of(lines)
          fields = []
          at = 0
          last = lines.size - 1
          while at < last
            line = lines[at += 1]
            pair = @known.at(at, line) || field(line) or return
            fields << pair
          end
          fields
        end

        # Does not use captures, for which JRuby creates several objects.
        def field(line)
          colon = line.index(":") or return
          name = line.byteslice(0, colon)
          return unless (NAMES.key?(name) || TOKEN.match?(name)) && !CONTROL.match?(line)

          pair = [name, line.byteslice((colon + 1)..).strip].each { |text| FieldSection.text(text) }
          line.ascii_only? ? @known.keep(line, pair) : pair
        end

        def take_status(minor, status, reason)
          @minor_version = minor
          @status = status
          @given_reason = reason && FieldSection.text(reason)
        end

        # Parses no byte beyond the limit, so that a head gives the same result in one piece and in several.
        def parse_slowly(bytes)
          seen = bytes.bytesize > @limits.head_bytes ? bytes.byteslice(0, @limits.head_bytes) : bytes
          if (@section || status_line(seen)) && @section.parse(seen)
            @tolerated ||= @section.tolerated
            complete(@section.fields(seen), @section.scan)
            return true
          end
          raise Failure, :HEAD_TOO_LARGE if seen.bytesize >= @limits.head_bytes

          false
        end

        # Checks each byte as it arrives, so that another protocol fails at its first wrong byte.
        def status_line(bytes)
          wrong = wrong_status(bytes)
          return lenient_status_line(bytes) if wrong && @limits.lenient
          raise Failure, wrong if wrong
          return if bytes.bytesize <= SHAPE.bytesize

          stop = bytes.index(/[^\t\x20-\x7e\x80-\xff]/n, SHAPE.bytesize) or return
          finish_status_line(bytes, stop)
        end

        def finish_status_line(bytes, stop)
          raise Failure, :STATUS_LINE unless [13, 10].include?(bytes.getbyte(stop))

          feed = bytes.getbyte(stop) == 13 ? stop + 1 : stop
          return if feed == bytes.bytesize
          raise Failure, :LINE_END unless bytes.getbyte(feed) == 10

          @tolerated = true if feed == stop
          given = bytes.getbyte(SHAPE.bytesize) == 32
          take_status(bytes.getbyte(7) - 48, bytes.byteslice(9, 3).to_i, given ? bytes.byteslice(13, stop - 13) : nil)
          @section = FieldSection.new(feed + 1, @limits)
        end

        # @return [Symbol, nil] the fault in the first bytes
        def wrong_status(bytes)
          [bytes.bytesize, SHAPE.bytesize].min.times do |at|
            wrong = wrong_byte(SHAPE[at], bytes.getbyte(at).chr)
            return wrong if wrong
          end
          behind = bytes.getbyte(SHAPE.bytesize)
          :STATUS_LINE unless behind.nil? || [32, 13, 10].include?(behind)
        end

        def wrong_byte(wanted, byte)
          case wanted
          when "1" then byte == "1" ? nil : version_or_line(byte)
          when "x" then %w[0 1].include?(byte) ? nil : version_or_line(byte)
          when "d" then byte.match?(/[1-9]/n) ? nil : :STATUS_LINE
          when "0" then byte.match?(/\d/n) ? nil : :STATUS_LINE
          else byte == wanted ? nil : :STATUS_LINE
          end
        end

        def version_or_line(byte) = byte.match?(/\d/n) ? :VERSION : :STATUS_LINE

        # Parses a status line as Net::HTTP does: in any case, with any version or none, and any blanks.
        def lenient_status_line(bytes)
          return unless bytes.include?("\n")

          line = LENIENT_STATUS.match(bytes)
          raise Failure, bytes.match?(%r{\AHTTP/(?!\d+\.\d)}in) ? :VERSION : :STATUS_LINE unless line

          take_status(line[1] == "1" && line[2] == "0" ? 0 : 1, line[3].to_i, line[4])
          @tolerated = true
          @section = FieldSection.new(line.end(0), @limits)
        end

        # ---- framing and connection fields ----

        def complete(fields, length)
          @fields = fields.freeze
          @length = length
          wrong = first_fault(fields)
          wrong ||= wrong_framing if @codings.positive?
          tolerate(wrong) if wrong
          take_switch if @status == 101
          choose_framing
        end

        # Written with `while`, because a block is slow on JRuby.
        def first_fault(fields)
          wrong = nil
          at = -1
          while (pair = fields[at += 1])
            fault = meaning(pair[0], pair[1])
            wrong ||= fault
          end
          wrong
        end

        # @return [Symbol, nil] a fault
        def meaning(name, value)
          case name.bytesize
          when 10
            if same?(name, "connection") then connection_options(value)
            elsif same?(name, "keep-alive") then keep_alive_hint(value)
            end
            nil
          when 14 then take_length(value) if same?(name, "content-length")
          when 16 then note_coding(name)
          when 17 then take_coding(value) if same?(name, "transfer-encoding")
          end
        end

        # As casecmp?, which creates two objects.
        def same?(text, word) = text.casecmp(word).zero?

        def elements(value) = value.include?(",") ? CommaList.elements(value) : [value]

        def connection_options(value)
          return connection_option(value) unless value.include?(",")

          CommaList.elements(value).each { |one| connection_option(one) }
        end

        def connection_option(text)
          @close = true if same?(text, "close")
          @keep_alive = true if same?(text, "keep-alive")
        end

        # Uses the smallest of several timeouts; malformed ones are ignored.
        def keep_alive_hint(value)
          elements(value).each do |one|
            seconds = one[/\Atimeout=(\d{1,10})\z/i, 1]&.to_i
            next if seconds.nil? || seconds > 0x7fffffff

            @keep_alive_timeout = seconds if @keep_alive_timeout.negative? || seconds < @keep_alive_timeout
          end
        end

        # Equal values, on several lines or in a list, count as one (RFC 9110 8.6).
        # @return [Symbol, nil] a fault
        def take_length(value)
          return take_one_length(value) unless value.include?(",")

          CommaList.elements(value).filter_map { |one| take_one_length(one) }.first
        end

        def take_one_length(text)
          length = text.to_i
          valid = length.to_s == text || !(text.empty? || NO_DIGIT.match?(text)) # the comparison is the faster check
          return :LENGTH_INVALID if !valid || length.negative? || length > 0x7fff_ffff_ffff_ffff
          return :LENGTH_CONFLICT if @content_length >= 0 && @content_length != length

          @content_length = length
          nil
        end

        def note_coding(name)
          @coded = true if same?(name, "content-encoding")
          nil
        end

        # Net::HTTP accepts `chunked` anywhere in the list, and decodes no other coding.
        def take_coding(value)
          before = @codings
          elements(value).each do |one|
            @codings += 1
            @chunked = true if same?(one, "chunked")
          end
          return if @chunked && @codings == 1 && before.zero?

          @tolerated = true if @limits.lenient
          :TRANSFER_CODING unless @limits.lenient
        end

        def wrong_framing
          if @limits.lenient # chunked overrides a Content-Length, and is accepted in HTTP/1.0 too
            @tolerated ||= @content_length >= 0 || @minor_version.zero?
            @content_length = -1
            return
          end
          return :LENGTH_AND_CODING if @content_length >= 0

          :TRANSFER_CODING if @minor_version.zero?
        end

        # Without a body, invalid framing is tolerated, but the connection is not reused. In a 1xx it is a failure,
        # because the final response follows.
        def tolerate(wrong)
          raise Failure, wrong if @status < 200 || !bodiless?

          @content_length = -1
          @tolerated = true
        end

        def take_switch
          raise Failure, :SWITCHED unless @limits.lenient || @may_switch

          @tolerated = true
        end

        # Chooses the framing (RFC 9112 6.3).
        def choose_framing
          @framing = if bodiless? then :none
                     elsif @codings.positive? then @chunked ? :chunked : :close
                     elsif @content_length >= 0 then :length
                     else
                       :close
                     end
        end
      end
    end
  end
end
