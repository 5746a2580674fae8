# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # Reads the body of a Response: chunk by chunk, or with the methods of an IO, so that IO.copy_stream and CSV.new
  # accept a Response. A streamed response (stream: true) is read from the connection when a method asks for more. The
  # body of any other response is one chunk, and reading it does not change Response#body.
  #
  # Chunks and lines have the encoding of the response's charset and end at a character boundary; only the end of the
  # body may be an incomplete character. They are BINARY when the charset is unknown, or when it is one whose characters
  # depend on preceding bytes (ISO-2022-JP, UTF-7, UTF-16 without LE or BE). JSON, streams of JSON lines and
  # text/event-stream without a charset are UTF-8.
  #
  # All methods raise the errors of a call when the body is cut short or a timeout is reached, and Cancelled after
  # #close.
  module BodyReading
    # Yields the body chunk by chunk. When the block is left early, the response is closed: with HTTP/1.1 its
    # connection, which still carries the rest of the body; with HTTP/2 its stream.
    #
    # @yield [chunk] a String, decoded, never empty
    # @return [self, Enumerator] an Enumerator without a block
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

    # Without a length, returns the next chunk; with a length, works like IO#read.
    #
    # @overload read
    #   @return [String, nil] the next chunk, as #each yields it; nil at the end
    # @overload read(buffer)
    #   Reads into buffer, so that a loop allocates no String per chunk.
    #   @param buffer [String] replaced by the bytes of the next chunk
    #   @return [String, nil] buffer; nil at the end
    # @overload read(length, buffer = nil)
    #   @param length [Integer] number of bytes; only the end of the body returns fewer
    #   @param buffer [String, nil] replaced by the bytes; empty at the end
    #   @return [String, nil] BINARY; nil at the end, unless length is 0
    #   @raise [ArgumentError] for a negative length
    # @raise [TypeError] when the first argument is neither an Integer nor a String
    def read(length = nil, buffer = nil)
      return read_bytes(length, buffer) if length.is_a?(Integer)
      return next_text unless length || buffer

      destination = length || buffer
      unless destination.is_a?(String)
        raise TypeError, "read: takes a number of bytes, or a String to read into, got #{destination.class}"
      end

      next_bytes(destination)
    end

    # Like IO#readpartial.
    #
    # @param most [Integer] maximum number of bytes
    # @param buffer [String, nil] replaced by the bytes read
    # @return [String] BINARY: the bytes that are available, or the next ones that arrive
    # @raise [EOFError] at the end
    # @raise [ArgumentError] for a negative number
    def readpartial(most, buffer = nil)
      check_length(most)
      return into(buffer, "") if most.zero?

      bytes = next_bytes
      into(buffer, bytes ? take(bytes, most) : "").tap { raise EOFError, "end of file reached" unless bytes }
    end

    # Like IO#gets, but without paragraph mode: an empty separator raises.
    #
    # @param separator [String, nil] the end of a line; nil: the whole rest of the body is one line
    # @param limit [Integer, nil] maximum bytes of a line; the line may exceed it to complete its last character
    # @param chomp [Boolean] whether to remove the separator
    # @return [String, nil] the next line; nil at the end
    # @raise [ArgumentError] for an empty separator or a negative limit
    def gets(separator = "\n", limit = nil, chomp: false)
      return gets("\n", separator, chomp: chomp) if separator.is_a?(Integer)
      raise ArgumentError, "an empty separator: paragraphs cannot be read" if separator == ""

      check_length(limit) if limit
      held_line(separator, limit, chomp) || line_of_chunks(separator&.b, limit, chomp)
    end

    # Yields each line. When the block is left early, the rest of the body can still be read.
    #
    # @param limit [Integer, nil] maximum bytes of a line (see #gets); the same as most
    # @yield [line] see #gets
    # @return [self, Enumerator] an Enumerator without a block
    # @raise [ArgumentError] for an empty separator, or for a limit that is negative or 0
    def each_line(separator = "\n", most = nil, chomp: false, limit: most, &block)
      unless block # JRuby's lazy enumerators pass the keywords of enum_for as a Hash
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

    # Waits for the next chunk, or for the end of the body.
    # @return [Boolean] whether the whole body has been read
    def eof?
      hold(next_bytes)
      !_held?
    end
    alias eof eof?

    # @return [Encoding] the encoding of chunks and lines
    def external_encoding
      _whole_characters(probe = "".b)
      probe.encoding
    end

    # @return [nil] no encoding is converted
    def internal_encoding = nil

    # @api private
    # @param buffer [String, nil] replaced by the chunk
    # @return [String, nil] the next chunk, which may end within a character
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

    # Puts back bytes that were read too far; the next read returns them first.
    def hold(bytes)
      _hold(bytes) unless bytes.nil? || bytes.empty?
    end

    def next_text
      chunk = next_bytes
      return chunk if chunk.nil? || (!@streamed && chunk.equal?(body))

      while (complete_bytes = _whole_characters(chunk)).zero?
        more = next_bytes or return chunk
        chunk = chunk.b << more
      end
      return chunk if complete_bytes == chunk.bytesize

      hold(chunk.byteslice(complete_bytes..).b)
      chunk.byteslice(0, complete_bytes)
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

    # @return [String] the first bytes, BINARY; the rest is put back
    def take(bytes, most)
      bytes = bytes.b unless bytes.encoding == Encoding::BINARY
      return bytes if bytes.bytesize <= most

      hold(bytes.byteslice(most..))
      bytes.byteslice(0, most)
    end

    def into(buffer, bytes)
      buffer ? buffer.replace(bytes).force_encoding(Encoding::BINARY) : bytes.b
    end

    # Fast path for a line that is already complete in the bytes read.
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

    # @return [String, nil] BINARY, the separator included
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

    # As IO#gets does, exceeds the limit to complete the last character.
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
