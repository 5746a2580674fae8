# frozen_string_literal: true

require_relative "../../server_sent_event"

module Trunkline
  # The part of EventStreamParser that the engine provides (see event_stream_parser.rb).
  class EventStreamParser
    LINE_END = /\r\n|\n|\r/n
    # Milliseconds: a longer retry counts as this, as in the C engine.
    RETRY_MOST = 10**15
    private_constant :LINE_END, :RETRY_MOST

    # @param chunk [String]
    # @return [self]
    def <<(chunk)
      _begin(nil, nil) unless @input
      chunk = String.try_convert(chunk) || raise(TypeError, "no implicit conversion of #{chunk.class} into String")
      @input = @at == @input.bytesize ? chunk.b : @input.byteslice(@at..) << chunk.b
      @at = 0
      self
    end

    # @return [ServerSentEvent, nil] nil: more must be fed
    # @raise [EventTooLarge]
    def next_event
      return if @input.nil? || !skip_mark

      while (line = next_line)
        event = line.empty? ? dispatch : take_line(line)
        return event if event.is_a?(ServerSentEvent)
      end
      nil
    end

    # @return [String, nil]
    def last_event_id = @id

    # @return [Float, nil] seconds
    def retry = @retry_seconds

    private

    def _begin(limit, id)
      raise TypeError, "no implicit conversion of #{limit.class} into Integer" unless limit.nil? || limit.is_a?(Integer)

      @limit = limit || Float::INFINITY
      @input = "".b
      @at = @scanned = 0
      @started = @after_cr = false
      @id = @next_id = id && decoded(id.b).freeze
      @retry_seconds = nil
      clear
      nil
    end

    def clear
      @data = @type = @event_retry = nil
      @size = 0
    end

    def decoded(bytes)
      text = bytes.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : text.scrub
    end

    # Skips a byte order mark at the beginning. @return [Boolean] false: more bytes are needed to decide
    def skip_mark
      return true if @started

      mark = "\xEF\xBB\xBF".b
      return false if @input.bytesize < 3 && mark.start_with?(@input)

      @started = true
      @at = 3 if @input.start_with?(mark)
      true
    end

    # A CR may be followed by its LF in the next chunk.
    def next_line
      if @after_cr && @at < @input.bytesize
        @at += 1 if @input.getbyte(@at) == 10
        @after_cr = false
      end
      stop = @input.index(LINE_END, @at)
      return too_long if stop.nil?

      line = @input.byteslice(@at, stop - @at)
      @at = stop + 1
      if @input.getbyte(stop) == 13
        @at < @input.bytesize ? (@at += 1 if @input.getbyte(@at) == 10) : @after_cr = true
      end
      line
    end

    def too_long
      raise too_large if @input.getbyte(@at) != 58 && @size + @input.bytesize - @at > @limit

      nil
    end

    def take_line(line)
      return if line.start_with?(":")

      @size += line.bytesize
      raise too_large if @size > @limit

      name, value = line.split(":", 2)
      value = value ? value.delete_prefix(" ") : "".b
      take_field(name, value)
      nil
    end

    def take_field(name, value)
      case name
      when "data" then @data = @data ? @data << "\n" << value : value
      when "event" then @type = value
      when "id" then @next_id = value unless value.include?("\0")
      when "retry" then @event_retry = @retry_seconds = retry_of(value) if value.match?(/\A\d+\z/)
      end
    end

    # Converts no long number, which would take time.
    def retry_of(digits)
      digits = digits.sub(/\A0+/, "")
      (digits.bytesize > 16 ? RETRY_MOST : [digits.to_i, RETRY_MOST].min) / 1000.0
    end

    def dispatch
      @id = decoded(@next_id).freeze unless @next_id.equal?(@id)
      @next_id = @id
      data = @data
      type = @type
      retry_seconds = @event_retry
      clear
      return if data.nil?

      type = type.nil? || type.empty? ? "message" : decoded(type)
      ServerSentEvent.new(data: decoded(data), type: type, id: @id, retry: retry_seconds)
    end
  end
end
