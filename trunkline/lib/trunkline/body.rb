# frozen_string_literal: true

require_relative "errors"
require_relative "interrupts"
require_relative "redacted"

module Trunkline
  # A request's body on its way out: pulled chunk by chunk, so that no more of it is in memory than one chunk.
  # Each kind answers to
  #
  #   length       bytes in all; nil when unknown, and the body goes out chunked
  #   next_chunk   the next String, never empty; nil at the end
  #   rewindable?  whether it can be sent again
  #   rewind       back to where it began
  #
  # One Body serves one call at a time: it has a position.
  #
  # @api private
  module Body
    CHUNK_BYTES = 64 * 1024
    ALLOWED = "a String, an IO, a Pathname, an Enumerable of Strings, or callable"

    # @param source [String, IO, Pathname, Enumerable, #call]
    # @return [Text, Stream, PathOnly, List, Enumeration, Callable]
    # @raise [InvalidRequest]
    def self.of(source)
      case source
      when String then Text.new(source)
      when ->(any) { any.respond_to?(:next_chunk) } then source
      when ->(any) { path_only?(any) } then PathOnly.new(source)
      when ->(any) { any.respond_to?(:read) } then Stream.new(source)
      when Array then List.new(source)
      when Hash then raise InvalidRequest.of("body", source, "#{ALLOWED}; a Hash belongs into json: or form:")
      when ->(any) { any.respond_to?(:each) } then Enumeration.new(source)
      when ->(any) { any.respond_to?(:call) } then Callable.new(source)
      else raise InvalidRequest.of("body", source, ALLOWED)
      end
    end

    # As of, for what a caller gives. An IO of which nothing is left was written or read before, and not rewound.
    #
    # @param option [String] that it was given as
    # @raise [InvalidRequest]
    def self.given(source, option)
      body = of(source)
      return body unless body.is_a?(Stream) && body.at_end?

      raise InvalidRequest, "#{option}: this #{source.class} is sent from where it stands, which is its end: rewind " \
                            "it, or give a Pathname"
    end

    # A Tempfile that was closed is still there by its path, until it is unlinked.
    #
    # @return [Boolean]
    def self.path_only?(source)
      return false unless source.respond_to?(:to_path)

      !source.respond_to?(:pos) || (defined?(::Tempfile) && source.is_a?(::Tempfile) && source.closed?)
    end
    private_class_method :path_only?

    # @return [String] the chunk, checked
    def self.chunk(chunk)
      return chunk if chunk.is_a?(String)

      raise InvalidRequest.of("body", chunk, "made of Strings alone")
    end

    # A String: what most bodies are. The engine takes the String itself.
    class Text
      include Redacted

      attr_reader :string

      def initialize(string)
        @string = string
        @given = false
      end

      def length = @string.bytesize

      def next_chunk
        return if @given || @string.empty?

        @given = true
        @string
      end

      def rewindable? = true

      def rewind
        @given = false
      end
    end

    # Anything with read(bytes): a File, a StringIO, a pipe, an upload. It is sent from where it stands; it is not
    # closed.
    class Stream
      include Redacted

      attr_reader :length

      def initialize(io)
        raise InvalidRequest.of("body", io, "an IO that is open") if io.respond_to?(:closed?) && io.closed?
        raise InvalidRequest.of("body", io, "a file, not a directory") if io.is_a?(File) && io.stat.directory?

        @io = io
        @start = position
        size = @start && sized? ? io.size : nil
        @length = [size - @start, 0].max if size
        @left = @length
        @buffer = +"" if io.is_a?(IO)
      end

      # A file that has grown since its length was read is sent up to that length.
      def next_chunk
        return if @left&.zero?

        chunk = pull(@left ? [@left, CHUNK_BYTES].min : CHUNK_BYTES)
        return if chunk.nil? || Body.chunk(chunk).empty?

        @left -= chunk.bytesize if @left
        chunk
      end

      # @return [Boolean] whether all bytes of a known length were read, so that nobody asks for more
      def spent?
        @left == 0 # rubocop:disable Style/NumericPredicate -- or nil
      end

      # @return [Boolean] whether it has bytes, all of which are before the place where it stands
      def at_end? = @length == 0 && @start.positive? # rubocop:disable Style/NumericPredicate -- or nil

      def rewindable? = !@start.nil? && @io.respond_to?(:seek)

      def rewind
        @io.seek(@start)
        @left = @length
      end

      private

      # The engine is done with a chunk when it asks for the next, so a Ruby IO can read into one buffer.
      def pull(bytes)
        return arrived(bytes) if @start.nil? && @io.respond_to?(:readpartial)

        @buffer ? @io.read(bytes, @buffer) : @io.read(bytes)
      end

      # A pipe or socket is not read ahead: each part is sent when it arrives.
      def arrived(bytes)
        @buffer ? @io.readpartial(bytes, @buffer) : @io.readpartial(bytes)
      rescue EOFError
        nil
      end

      # A device has a position, and says that its size is 0.
      def sized? = @io.respond_to?(:size) && (!@io.is_a?(File) || @io.stat.file?)

      def position
        @io.pos if @io.respond_to?(:pos)
      rescue SystemCallError, IOError
        nil # a pipe or socket
      end
    end

    # A file known by its path: opened when its turn comes, closed at its end, or by release when it is left early.
    class PathOnly
      include Redacted

      attr_reader :length

      def initialize(source)
        @path = source.to_path
        unless @path && File.file?(@path) && File.readable?(@path) # a Tempfile that is unlinked has none
          raise InvalidRequest.of("body", source, "a readable file")
        end

        @length = File.size(@path)
        @file = nil
        @done = false
      end

      def next_chunk
        return if @done

        @file ||= File.open(@path, "rb")
        @stream ||= Stream.new(@file)
        chunk = @stream.next_chunk
        release if chunk.nil? || @stream.spent?
        chunk
      end

      def rewindable? = true

      def rewind
        release
        @done = false
      end

      def release
        @file&.close
        @file = @stream = nil
        @done = true
      end
    end

    # An Array of Strings.
    class List
      include Redacted

      attr_reader :length

      def initialize(strings)
        @strings = strings.map { |string| Body.chunk(string) }
        @length = @strings.sum(&:bytesize)
        @next = 0
      end

      def next_chunk
        while (chunk = @strings[@next])
          @next += 1
          return chunk unless chunk.empty?
        end
      end

      def rewindable? = true

      def rewind
        @next = 0
      end
    end

    # Any other object with each. An Enumerator takes one chunk at a time; it is not started again.
    class Enumeration
      include Redacted

      def initialize(source)
        @enumerator = source.is_a?(Enumerator) ? source : source.to_enum(:each)
      end

      def length; end

      def next_chunk
        loop do
          chunk = Body.chunk(Interrupts.throwing_on { @enumerator.next })
          return chunk unless chunk.empty?
        end
        nil
      end

      def rewindable? = false
    end

    # Called for each chunk, until it returns nil.
    class Callable
      include Redacted

      def initialize(callable)
        @callable = callable
      end

      def length; end

      def next_chunk
        while (chunk = @callable.call)
          return chunk unless Body.chunk(chunk).empty?
        end
      end

      def rewindable? = false
    end
  end
end
