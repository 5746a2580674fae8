# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # How a Response's body is read: chunk by chunk, or as an IO is, so that IO.copy_stream and CSV.new take the Response.
  # Of a streamed answer (stream: true) each part comes as it is asked for; of any other, the body is one chunk, and
  # Response#body stays whole.
  #
  # Chunks and lines have the encoding of the Response's charset, and a character is never divided between them; a body
  # that ends within a character ends with what there is of it. They are BINARY when no charset is known, or one in
  # which a character depends on what came before it (ISO-2022-JP, UTF-7, UTF-16 without LE or BE). JSON, its streams
  # of lines and text/event-stream are UTF-8 when they name no charset.
  #
  # All raise what a call raises when the body breaks off or a limit of time is reached, and Cancelled after #close.
  module BodyReading
    # When the block is left early, the connection is closed: the rest of the body is on it.
    #
    # @yield [chunk] a String, decoded, never empty
    # @return [self, Enumerator]
    def each
      return enum_for(:each) unless block_given?

      while (chunk = next_text)
        yield chunk
      end
      self
    ensure
      if block_given?
        _take_held
        close
      end
    end

    # Without a length, the next chunk; with one, as IO#read.
    #
    # @overload read
    #   @return [String, nil] the next chunk, as #each yields it; nil at the end
    # @overload read(buffer)
    #   A reader that is done with a chunk when it asks for the next spares the collector all of them.
    #   @param buffer [String]
    #   @return [String, nil] buffer, with the bytes of the next chunk; nil at the end
    # @overload read(length, buffer = nil)
    #   @param length [Integer] bytes, fewer at the end alone
    #   @param buffer [String, nil] to read into; "" at the end
    #   @return [String, nil] BINARY; nil at the end, unless length is 0
    #   @raise [ArgumentError] for a negative length
    # @raise [TypeError] for anything else
    def read(length = nil, buffer = nil)
      return read_bytes(length, buffer) if length.is_a?(Integer)
      return next_text unless length || buffer

      given = length || buffer
      unless given.is_a?(String)
        raise TypeError, "read: takes a number of bytes, or a String to read into, got #{given.class}"
      end

      next_bytes(given)
    end

    # As IO#readpartial.
    #
    # @param most [Integer] bytes
    # @param buffer [String, nil] to read into
    # @return [String] BINARY: what is there, or the next that comes
    # @raise [EOFError] at the end
    def readpartial(most, buffer = nil)
      check_length(most)
      return into(buffer, "") if most.zero?

      bytes = next_bytes
      into(buffer, bytes ? take(bytes, most) : "").tap { raise EOFError, "end of file reached" unless bytes }
    end

    # As IO#gets, without its paragraphs: a separator of "" is refused.
    #
    # @param separator [String, nil] where a line ends; nil: at the end of the body
    # @param limit [Integer, nil] bytes of the longest line, which ends behind a whole character
    # @param chomp [Boolean] whether to leave the separator out
    # @return [String, nil] the next line; nil at the end
    # @raise [ArgumentError]
    def gets(separator = "\n", limit = nil, chomp: false)
      return gets("\n", separator, chomp: chomp) if separator.is_a?(Integer)
      raise ArgumentError, "an empty separator: paragraphs cannot be read" if separator == ""

      check_length(limit) if limit
      held_line(separator, limit, chomp) || line_of_chunks(separator&.b, limit, chomp)
    end

    # Leaves what follows to be read, when the block is left early.
    #
    # @param limit [Integer, nil] the same as most
    # @yield [line] see #gets
    # @return [self, Enumerator]
    # @raise [ArgumentError]
    def each_line(separator = "\n", most = nil, chomp: false, limit: most, &block)
      unless block # JRuby's lazy enumerators hand keywords of enum_for on as a Hash
        return Enumerator.new { |out| each_line(separator, most, chomp: chomp, limit: limit) { |line| out << line } }
      end
      return each_line("\n", separator, chomp: chomp, &block) if separator.is_a?(Integer)

      check_length(limit) if limit
      raise ArgumentError, "limit: 0 would divide a body for ever" if limit&.zero?

      loop do
        _each_held_line(limit, chomp, &block) if separator == "\n"
        line = gets(separator, limit, chomp: chomp) or return self
        yield line
      end
    end

    # Waits for the next chunk, or for the end.
    # @return [Boolean] whether all has been read
    def eof?
      hold(next_bytes)
      !_held?
    end
    alias eof eof?

    # @return [Encoding] of chunks and lines
    def external_encoding
      _whole_characters(probe = "".b)
      probe.encoding
    end

    # @return [nil] nothing is converted
    def internal_encoding = nil

    # @api private
    # @param buffer [String, nil] to read into
    # @return [String, nil] the next chunk, whose end may divide a character
    def next_bytes(buffer = nil)
      if (held = _take_held)
        return buffer ? into(buffer, held) : held
      end
      return _read(buffer) if @streamed
      return if @read || body.empty?

      @read = true
      buffer ? buffer.replace(body) : body
    end

    private

    # What was read too much comes first in the next read.
    def hold(bytes)
      _hold(bytes) unless bytes.nil? || bytes.empty?
    end

    def next_text
      chunk = next_bytes
      return chunk if chunk.nil? || (!@streamed && chunk.equal?(body))

      while (whole = _whole_characters(chunk)).zero?
        more = next_bytes or return chunk
        chunk = chunk.b << more
      end
      return chunk if whole == chunk.bytesize

      hold(chunk.byteslice(whole..).b)
      chunk.byteslice(0, whole)
    end

    def read_bytes(length, buffer)
      check_length(length)
      bytes = "".b
      while bytes.bytesize < length && (chunk = next_bytes)
        bytes << take(chunk, length - bytes.bytesize)
      end
      ended = bytes.empty? && length.positive?
      bytes = into(buffer, bytes) if buffer
      ended ? nil : bytes
    end

    # @return [String] BINARY: the first bytes; the others are held
    def take(bytes, most)
      bytes = bytes.b unless bytes.encoding == Encoding::BINARY
      return bytes if bytes.bytesize <= most

      hold(bytes.byteslice(most..))
      bytes.byteslice(0, most)
    end

    def into(buffer, bytes)
      buffer ? buffer.replace(bytes).force_encoding(Encoding::BINARY) : bytes.b
    end

    # A line of which all is here costs little.
    def held_line(separator, limit, chomp) = separator == "\n" ? _held_line(limit, chomp) : nil

    # @param separator [String, nil] BINARY
    def line_of_chunks(separator, limit, chomp)
      line = next_line(separator, limit) or return
      if separator && line.end_with?(separator)
        line = line.chomp(separator) if chomp
      else
        complete_character(line)
      end
      _whole_characters(line)
      line
    end

    # @return [String, nil] BINARY, up to and with the separator
    def next_line(separator, limit)
      text = next_bytes&.b or return
      from = 0
      until (stop = line_end(text, separator, limit, from))
        more = next_bytes or return text
        from = [text.bytesize - separator.bytesize + 1, 0].max if separator
        text << more.b
      end
      take(text, stop)
    end

    def line_end(text, separator, limit, from)
      at = separator && text.index(separator, from)
      stop = at + separator.bytesize if at
      return stop if limit.nil? || (stop && stop <= limit)

      limit if text.bytesize >= limit
    end

    # As IO#gets: a limit may be exceeded by the rest of a character.
    def complete_character(line)
      while _whole_characters(line) < line.bytesize && (byte = read_bytes(1, nil))
        line.force_encoding(Encoding::BINARY) << byte
      end
    end

    def check_length(length)
      raise ArgumentError, "negative length #{length} given" if length.negative?
    end
  end
end
