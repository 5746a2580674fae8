# frozen_string_literal: true

require_relative "response_state"
require_relative "charset"
require_relative "errors_on_jruby"
require_relative "../../memo"

module Trunkline
  # The part of Response that the engine provides (see response.rb and body_reading.rb). The body may still be arriving.
  class Response
    CHARSET = /;[ \t]*charset=(?:"([^"]*)"?|([^;]*))/i
    # Media types that are UTF-8 without a charset: JSON (RFC 8259 8.1), JSON streams, and event streams (HTML 9.2.5).
    UTF8_TYPES = %w[application/json application/x-ndjson application/ndjson application/jsonl application/jsonlines
                    application/x-jsonlines application/json-lines application/json-seq text/event-stream]
      .to_h { |type| [type, true] }.freeze
    # Seconds to wait for the rest of a body so that its connection can be reused.
    SETTLED_WITHIN = 1.0
    private_constant :CHARSET, :UTF8_TYPES, :SETTLED_WITHIN

    class << self
      # @param state [Engine::Ruby::ResponseState, Engine::Ruby::StubResponseState]
      # @return [Response]
      # @api private
      def _of(request, state)
        response = allocate
        response.__send__(:begin_with, request, state)
        response
      end

      private :new
    end

    attr_reader :request

    def status = @state.status
    def reason = @state.reason
    def complete? = @state.complete?
    def length_unknown? = @state.length_unknown?
    # @api private
    def _given_reason = @state.given_reason
    # @api private
    def _body_begun? = @state.body_begun?
    # @api private
    def _fields = @state.fields.map(&:dup)
    def minor_version = @state.minor_version

    # Repeated fields are joined by ", " (RFC 9110 5.2). :content_type is "content-type".
    def [](name)
      name = name.is_a?(Symbol) ? name.name.tr("_", "-") : String(name)
      size = name.bytesize
      found = nil
      @state.fields.each do |one, value|
        next unless one.bytesize == size && (name.equal?(one) || one.casecmp?(name))

        found = found ? "#{found}, #{value}" : value.dup
      end
      found
    end

    # @api private
    def _fields_by_name
      @state.fields.each_with_object({}) do |(name, value), hash|
        name = -name.downcase
        hash[name] = hash.key?(name) ? "#{hash[name]}, #{value}" : value.dup
      end
    end

    # @return [String] the body; of a streamed response, the rest that has not been read
    def body
      @body ||= encoded(@state.body || rest_of_body)
    end

    def close
      @state.close
    end

    # @api private
    def _asked_at(call_site)
      @state.note_call_site(call_site)
      nil
    end

    # Writes the rest of the body to a file, from offset on. @return [Boolean] whether the body is complete
    # @api private
    def _save(descriptor, offset, seconds)
      return true if complete?
      raise ArgumentError, "only a streamed body of which nothing was read can be saved" if @held || !@state.streamed?

      file = IO.for_fd(descriptor, autoclose: false)
      until_then = seconds ? Engine.now + seconds : Float::INFINITY
      loop do
        piece = @state.read
        offset += write_piece(file, piece, offset) if piece
        return true if complete? || piece.nil?
        return false if Engine.now >= until_then
      end
    end

    # @return [Integer] bytes that #_save has written
    # @api private
    def _saved = @saved_bytes

    private

    def begin_with(request, state)
      @request = request
      @state = state
      @saved_bytes = 0
      @held_from = 0
    end

    # @return [Engine::Switched, nil]
    def take_switched
      @switched = @state.switched
    end

    def _trailers = @state.trailers.map(&:dup)
    def _early_hints = @state.early_hints.map { |fields| fields.map(&:dup) }
    def _timings = @state.timings
    def _began = @state.began
    def _connection = @state.connection
    def _attempts = @state.attempts

    def _read(buffer)
      unless buffer.nil? || buffer.is_a?(String)
        raise TypeError,
              "wrong argument type #{buffer.class} (expected String)"
      end
      raise FrozenError.new("can't modify frozen String", receiver: buffer) if buffer&.frozen?

      @state.read(buffer)
    end

    def rest_of_body
      all = (_take_held || "").b
      @state.keep_rest
      while (piece = @state.read)
        all.empty? ? all = piece : all << piece
      end
      all
    end

    # Reads a streamed response to its end, and stores its body. Of a larger body only the first bytes are stored, and
    # the response is closed; a response whose rest does not arrive in time is closed too.
    def _settle(bytes)
      return unless @state.live?

      @state.settle_within(SETTLED_WITHIN)
      all = (_take_held || "").b
      while all.bytesize <= bytes && (piece = @state.read)
        all << piece
      end
      @state.close
      larger = all.bytesize > bytes
      @body = encoded(larger ? all.byteslice(0, bytes) : all) if larger || complete?
      nil
    end

    # ---- encodings ----

    def encoding_found
      return @encoding_found if defined?(@encoding_found)

      type = self["content-type"]
      @encoding_found = type && ENCODINGS.fetch(type) do
        Memo.keep(ENCODINGS, ENCODINGS_MOST, type, encoding_of(type))
      end
    end
    # Encodings by the most recent Content-Types.
    ENCODINGS = {} # rubocop:disable Style/MutableConstant
    ENCODINGS_MOST = 100
    private_constant :ENCODINGS, :ENCODINGS_MOST

    def encoding_of(type)
      quoted, plain = CHARSET.match(type)&.captures
      name = quoted || plain&.sub(/[ \t]+\z/, "")
      return Engine.charset(name) unless name.nil? || name.empty?

      type = type[/\A[^;]*/].sub(/[ \t]+\z/, "").downcase
      Encoding::UTF_8 if UTF8_TYPES.key?(type) || (type.bytesize > 5 && type.end_with?("+json"))
    end

    def encoded(body)
      encoding = encoding_found
      encoding ? body.force_encoding(encoding) : body
    end

    # Sets the body's encoding on a chunk, and returns how many of its bytes form whole characters. If no encoding is
    # known, or a dummy one such as ISO-2022-JP, these are all bytes, and the chunk's encoding is not changed.
    def _whole_characters(chunk)
      encoding = encoding_found
      return chunk.bytesize if encoding.nil? || encoding.dummy?

      Engine::Ruby::Charset.complete_length(chunk.force_encoding(encoding))
    end

    # ---- bytes that were read ahead: the next read returns them first ----

    def _hold(bytes)
      @held = bytes.empty? ? nil : String.new(bytes).force_encoding(bytes.encoding).freeze
      @held_from = 0
      nil
    end

    def _take_held
      held = @held or return
      @held = nil
      held.byteslice(@held_from..)
    end

    def _held? = !@held.nil?

    # Returns the next line, if it is held completely and has no more bytes than limit.
    def _held_line(limit, chomp)
      encoding = encoding_found || Encoding::BINARY
      return if @held.nil? || encoding.dummy? || !encoding.ascii_compatible?

      stop = line_feed_in_held
      return if stop.nil? || (limit && stop - @held_from >= limit)

      from = @held_from
      @held_from = stop + 1
      line = @held.byteslice(from, stop - from + 1).force_encoding(encoding)
      @held = nil if @held_from == @held.bytesize
      chomp ? without_end(line, encoding) : line
    end

    def line_feed_in_held
      return @held.byteindex("\n", @held_from) if @held.encoding == Encoding::BINARY && @held.respond_to?(:byteindex)

      @held = @held.b.freeze unless @held.encoding == Encoding::BINARY
      @held.index("\n", @held_from)
    end

    def without_end(line, encoding)
      bytes = line.b
      line.byteslice(0, bytes.bytesize - (bytes.end_with?("\r\n") ? 2 : 1)).force_encoding(encoding)
    end

    def _each_held_line(limit, chomp)
      while (line = _held_line(limit, chomp))
        yield line
      end
    end

    def write_piece(file, piece, offset)
      written = 0
      while written < piece.bytesize
        count = file.pwrite(written.zero? ? piece : piece.byteslice(written..), offset + written)
        raise Engine::Ruby::ErrorsOnJRuby.last if count.negative? # JRuby raises no error when the disk is full

        written += count
        @saved_bytes += count
      end
      written
    end
  end
end
