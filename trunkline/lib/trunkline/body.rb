# frozen_string_literal: true

require_relative "errors"
require_relative "interrupts"
require_relative "redacted"

module Trunkline
  # The body of a request, read chunk by chunk while it is sent, so that only one chunk is in memory. Each kind of body
  # has these methods:
  #
  #   length       total bytes; nil when unknown: HTTP/1.1 then sends the body chunked
  #   next_chunk   the next String, never empty; nil at the end
  #   rewindable?  whether the body can be sent again
  #   rewind       moves back to the start position
  #
  # A Body has a position, so it serves one call at a time.
  #
  # @api private
  module Body
    CHUNK_BYTES = 64 * 1024
    ALLOWED = "a String, an IO, a Pathname, an Enumerable of Strings, or callable"

    # @param source [String, IO, Pathname, Enumerable, #call]
    # @return [StringBody, Stream, FileByPath, List, Enumeration, Callable]
    # @raise [InvalidRequest] for any other object, and for an IO or file that cannot be read
    def self.of(source)
      case source
      when String then StringBody.new(source)
      when ->(any) { any.respond_to?(:next_chunk) } then source
      when ->(any) { by_path?(any) } then FileByPath.new(source)
      when ->(any) { any.respond_to?(:read) } then Stream.new(source)
      when Array then List.new(source)
      when Hash then raise InvalidRequest.of("body", source, "#{ALLOWED}; a Hash belongs into json: or form:")
      when ->(any) { any.respond_to?(:each) } then Enumeration.new(source)
      when ->(any) { any.respond_to?(:call) } then Callable.new(source)
      else raise InvalidRequest.of("body", source, ALLOWED)
      end
    end

    # Like .of, for the body that a caller gave. An IO at its end raises, because it was probably written or read before
    # and not rewound.
    #
    # @param option [String] name of the option that the body was given as
    # @raise [InvalidRequest]
    def self.from_option(source, option)
      body = of(source)
      return body unless body.is_a?(Stream) && body.at_end?

      raise InvalidRequest, "#{option}: this #{source.class} is sent from where it stands, which is its end: rewind " \
                            "it, or give a Pathname"
    end

    # A closed Tempfile can be opened by its path until it is unlinked.
    #
    # @return [Boolean] whether source must be opened by its path
    def self.by_path?(source)
      return false unless source.respond_to?(:to_path)

      !source.respond_to?(:pos) || (defined?(::Tempfile) && source.is_a?(::Tempfile) && source.closed?)
    end
    private_class_method :by_path?

    # @return [String] chunk
    # @raise [InvalidRequest] when chunk is not a String
    def self.chunk(chunk)
      return chunk if chunk.is_a?(String)

      raise InvalidRequest.of("body", chunk, "made of Strings alone")
    end

    # A String, the most common kind of body. The engine is given the String, not this object.
    class StringBody
      include Redacted

      attr_reader :string

      def initialize(string)
        @string = string
        @read = false
      end

      def length = @string.bytesize

      def next_chunk
        return if @read || @string.empty?

        @read = true
        @string
      end

      def rewindable? = true

      def rewind
        @read = false
      end
    end

    # An object with read(bytes): a File, a StringIO, a pipe, an upload. It is sent from its current position and is not
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

        chunk = read_chunk(@left ? [@left, CHUNK_BYTES].min : CHUNK_BYTES)
        return if chunk.nil? || Body.chunk(chunk).empty?

        @left -= chunk.bytesize if @left
        chunk
      end

      # @return [Boolean] whether all bytes of a known length have been read, so that next_chunk need not be called
      #   again
      def fully_read?
        @left == 0 # rubocop:disable Style/NumericPredicate -- or nil
      end

      # @return [Boolean] whether the IO is at its end without being empty
      def at_end? = @length == 0 && @start.positive? # rubocop:disable Style/NumericPredicate -- or nil

      def rewindable? = !@start.nil? && @io.respond_to?(:seek)

      def rewind
        @io.seek(@start)
        @left = @length
      end

      private

      # The engine has used a chunk before it asks for the next one, so a Ruby IO can read into one reused buffer.
      def read_chunk(bytes)
        return read_available(bytes) if @start.nil? && @io.respond_to?(:readpartial)

        @buffer ? @io.read(bytes, @buffer) : @io.read(bytes)
      end

      # A pipe or socket is read with readpartial, so that each part is sent as soon as it arrives.
      def read_available(bytes)
        @buffer ? @io.readpartial(bytes, @buffer) : @io.readpartial(bytes)
      rescue EOFError
        nil
      end

      # A device file has a position, but reports a size of 0.
      def sized? = @io.respond_to?(:size) && (!@io.is_a?(File) || @io.stat.file?)

      def position
        @io.pos if @io.respond_to?(:pos)
      rescue SystemCallError, IOError
        nil # a pipe or socket
      end
    end

    # A file given by its path: opened for the first chunk, closed at its end, or by release when sending ends early.
    class FileByPath
      include Redacted

      attr_reader :length

      def initialize(source)
        @path = source.to_path
        unless @path && File.file?(@path) && File.readable?(@path) # an unlinked Tempfile has no path
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
        release if chunk.nil? || @stream.fully_read?
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

    # Any other object with each, read by an Enumerator, one chunk at a time. It cannot be rewound.
    class Enumeration
      include Redacted

      def initialize(source)
        @enumerator = source.is_a?(Enumerator) ? source : source.to_enum(:each)
      end

      def length; end

      def next_chunk
        loop do
          chunk = Body.chunk(Interrupts.with_rethrow { @enumerator.next })
          return chunk unless chunk.empty?
        end
        nil
      end

      def rewindable? = false
    end

    # A callable, called for each chunk until it returns nil.
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
