# frozen_string_literal: true

require_relative "response_state"
require_relative "charset"
require_relative "errors_on_jruby"
require_relative "../../memo"
require_relative "../../of_main_ractor"
require_relative "../../ows"
require_relative "../../positioned_writing"

module Trunkline
  # The part of Response that the engine provides (see response.rb and body_reading.rb). The body may still be arriving.
  class Response
    include OfMainRactor

    CHARSET = /;[ \t]*charset=(?:"([^"]*)"?|([^;]*))/i
    # Media types that are UTF-8 without a charset: JSON (RFC 8259 8.1), JSON streams, and event streams (HTML 9.2.5).
    UTF8_TYPES = %w[application/json application/x-ndjson application/ndjson application/jsonl application/jsonlines
                    application/x-jsonlines application/json-lines application/json-seq text/event-stream]
      .to_h { |type| [type, true] }.freeze
    # Seconds to wait for the rest of a body so that its connection can be reused.
    SETTLED_WITHIN = 1.0
    # Joins the values of a repeated field. In US-ASCII, so that the result is too if the values are.
    COMMA = ", ".encode(Encoding::US_ASCII).freeze
    # What the response keeps of its body, so that a frozen response can be read, too: the body as #body returns it,
    # the bytes that were read ahead and where the next of them begins, how many bytes were saved, and the encoding.
    # Not a Struct, which JRuby creates more slowly.
    class Kept
      include Redacted

      attr_accessor :body, :held, :held_from, :saved_bytes, :encoding

      def initialize
        @held_from = @saved_bytes = 0
        @encoding = :unknown
      end
    end
    private_constant :CHARSET, :UTF8_TYPES, :SETTLED_WITHIN, :COMMA, :Kept

    class << self
      # @param state [Engine::Ruby::ResponseState, Engine::Ruby::StubResponseState]
      # @return [Response]
      # @api private
      def _of(request, state) = new(request, state)

      private :new
    end

    def initialize(request, state)
      @anchor = OfMainRactor::ANCHOR
      @request = request
      @state = state
      @kept = Kept.new
    end

    attr_reader :request

    def status = @state.status
    def reason = @state.reason.dup
    def complete? = @state.complete?
    def length_unknown? = @state.length_unknown?
    # @api private
    def _given_reason = @state.given_reason.dup
    # @api private
    def _body_begun? = @state.body_begun?
    # @api private
    def _fields = copies(@state.fields)
    def minor_version = @state.minor_version

    # Repeated fields are joined by ", " (RFC 9110 5.2). :content_type is "content-type".
    def [](name)
      name = name.is_a?(Symbol) ? name.name.tr("_", "-") : text_of(name)
      size = name.bytesize
      found = nil
      @state.fields.each do |one, value|
        next unless one.bytesize == size && (name.equal?(one) || one.casecmp(name)&.zero?)

        found = found ? found << COMMA << value : value.dup
      end
      found
    end

    # @api private
    def _fields_by_name
      @state.fields.each_with_object({}) do |(name, value), hash|
        name = -name.downcase
        hash[name] = hash.key?(name) ? hash[name] << COMMA << value : value.dup
      end
    end

    # @return [String] the body; of a streamed response, the rest that has not been read
    def body
      @kept.body ||= encoded(@state.body || rest_of_body)
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
      raise ArgumentError, "only a streamed body of which nothing was read can be saved" if _held? || !@state.streamed?

      file = PositionedWriting.open(descriptor)
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
    def _saved = @kept.saved_bytes

    private

    def text_of(name)
      String.try_convert(name) || raise(TypeError, "no implicit conversion of #{described(name)} into String")
    end

    def described(name) = [nil, true, false].include?(name) ? name.inspect : name.class

    # @return [Array<Array(String, String)>] that the caller may change
    def copies(fields) = fields.map { |name, value| [name.dup, value.dup] }

    # @return [Engine::Switched, nil]
    def take_switched
      @switched = @state.switched
    end

    def _trailers = copies(@state.trailers)
    def _early_hints = @state.early_hints.map { |fields| copies(fields) }
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
      @kept.body = encoded(larger ? all.byteslice(0, bytes) : all) if larger || complete?
      nil
    end

    # ---- encodings ----

    def encoding_found
      return @kept.encoding unless @kept.encoding == :unknown

      type = first_content_type
      @kept.encoding = type && ENCODINGS.fetch(type) do
        Memo.keep(ENCODINGS, ENCODINGS_MOST, type.dup.freeze, encoding_of(type))
      end
    end

    # Written with `while`, because a block is slow on JRuby.
    # @return [String, nil] the first of several
    def first_content_type
      fields = @state.fields
      at = -1
      while (pair = fields[at += 1])
        name = pair[0]
        return pair[1] if name.bytesize == 12 && name.casecmp("content-type").zero?
      end
    end

    # Encodings by the most recent Content-Types.
    ENCODINGS = {} # rubocop:disable Style/MutableConstant
    ENCODINGS_MOST = 100
    private_constant :ENCODINGS, :ENCODINGS_MOST

    def encoding_of(type)
      quoted, plain = CHARSET.match(type)&.captures
      name = quoted || (plain && OWS.rstrip(plain))
      return Engine.charset(name) unless name.nil? || name.empty?

      type = OWS.rstrip(type[/\A[^;]*/]).downcase
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
      @kept.held = bytes.empty? ? nil : String.new(bytes).force_encoding(bytes.encoding).freeze
      @kept.held_from = 0
      nil
    end

    def _take_held
      held = @kept.held or return
      @kept.held = nil
      held.byteslice(@kept.held_from..)
    end

    def _held? = !@kept.held.nil?

    # Returns the next line, if it is held completely and has no more bytes than limit.
    def _held_line(limit, chomp)
      encoding = encoding_found || Encoding::BINARY
      return if !_held? || encoding.dummy? || !encoding.ascii_compatible?

      from = @kept.held_from
      stop = line_feed_in_held(from)
      return if stop.nil? || (limit && stop - from >= limit)

      @kept.held_from = stop + 1
      line = @kept.held.byteslice(from, stop - from + 1).force_encoding(encoding)
      @kept.held = nil if @kept.held_from == @kept.held.bytesize
      chomp ? without_end(line, encoding) : line
    end

    def line_feed_in_held(from)
      held = @kept.held
      return held.byteindex("\n", from) if held.encoding == Encoding::BINARY && held.respond_to?(:byteindex)

      held = @kept.held = held.b.freeze unless held.encoding == Encoding::BINARY
      held.index("\n", from)
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
      PositionedWriting.write(file, piece, offset) { |count| @kept.saved_bytes += count }
    end
  end
end
