# frozen_string_literal: true

require "zlib"
require_relative "failures"
require_relative "limits"
require_relative "zstd"
require_relative "../../comma_list"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Decodes content codings (RFC 9110 8.4) as a stream, and limits the size of the output.
      class Codings
        include Redacted

        # gzip (RFC 1952): a sequence of members; zlib checks the CRC and length of each.
        class Gzip
          include Redacted

          MAGIC = 0x1f
          private_constant :MAGIC

          def initialize
            @zlib = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
          end

          # @return [Boolean] whether the data may end here
          def at_end? = @zlib.finished?

          # @yieldparam piece [String]
          def step(input, &block)
            until input.empty?
              if @zlib.finished?
                raise Failure, :CODING_TRAILING unless input.getbyte(0) == MAGIC

                @zlib = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
              end
              input = Codings.inflate(@zlib, input, &block)
            end
          end
        end

        # deflate means the zlib format, but some servers send raw deflate data.
        class Deflate
          include Redacted

          def initialize
            @buffered = "".b
          end

          def at_end? = @zlib && (@zlib.finished? || ended?)

          def step(input, &block)
            raise Failure, :CODING_TRAILING if @zlib&.finished?

            unless @zlib
              @buffered << input
              return if @buffered.bytesize < 2

              @zlib = Zlib::Inflate.new(header?(@buffered) ? Zlib::MAX_WBITS : -Zlib::MAX_WBITS)
              input = @buffered
            end
            raise Failure, :CODING_TRAILING unless Codings.inflate(@zlib, input, &block).empty?
          end

          private

          # JRuby's zlib detects the end of raw data only with the byte that follows it, and does not consume that byte.
          def ended?
            before = @zlib.total_in
            @zlib.inflate("\0")
            @zlib.finished? && @zlib.total_in == before
          rescue Zlib::Error
            false
          end

          # No encoder produces raw data that begins like a zlib header (RFC 1950 2.2).
          def header?(bytes)
            first, second = bytes.bytes
            first & 0x0f == 8 && first >> 4 <= 7 && (((first << 8) | second) % 31).zero?
          end
        end

        # gzip or zlib, whichever the data is, as Net::HTTP decodes it: bytes after the end are ignored.
        class GzipOrZlib
          include Redacted

          def initialize
            @zlib = Zlib::Inflate.new(Zlib::MAX_WBITS + 32)
          end

          def at_end? = @zlib.finished?

          def step(input, &block)
            Codings.inflate(@zlib, input, &block) unless @zlib.finished?
          end
        end

        # br (RFC 7932), decoded by the brotli gem.
        class Brotli
          include Redacted

          PIECE = 64 * 1024
          private_constant :PIECE

          # @return [Boolean] whether the gem is installed, and can decode in pieces
          def self.available?
            require "brotli"
            defined?(::Brotli::Decompressor) && ::Brotli::Decompressor.method_defined?(:unused_data)
          rescue LoadError
            false
          end

          def initialize
            @decoder = ::Brotli::Decompressor.new
          end

          def at_end? = @decoder.finished?

          def step(input, &block)
            raise Failure, :CODING_TRAILING if at_end?

            input = drain(input, &block) until input.nil?
            raise Failure, :CODING_TRAILING if at_end? && !@decoder.unused_data.empty?
          rescue ::Brotli::Error
            raise Failure, :CODING_DATA
          end

          private

          # @return [String, nil] the input for the next call; nil: all output was yielded
          def drain(input)
            output = @decoder.process(input, output_buffer_limit: PIECE)
            yield output unless output.empty?
            "" unless at_end? || @decoder.can_accept_more_data?
          end
        end

        BY_GEMS = { "br" => Brotli, "zstd" => Zstd }.select { |_, coding| coding.available? }.freeze
        KNOWN = { "gzip" => Gzip, "x-gzip" => Gzip, "deflate" => Deflate, **BY_GEMS, "identity" => nil }.freeze
        # The value of Accept-Encoding.
        NAMES = ["gzip", "deflate", *BY_GEMS.keys].join(", ").freeze
        private_constant :BY_GEMS

        # Bytes that are passed to zlib at once. JRuby's zlib yields all output of them in one piece, of less than 2
        # MiB.
        INPUT = RUBY_ENGINE == "jruby" ? 1024 : 64 * 1024
        private_constant :INPUT

        # @return [String] the bytes after the end of the data
        def self.inflate(zlib, input, &block)
          from = 0
          while from < input.bytesize
            before = zlib.total_in
            piece = input.byteslice(from, INPUT)
            inflate_piece(zlib, piece, &block)
            return input.byteslice(from + zlib.total_in - before, input.bytesize) if zlib.finished?

            from += piece.bytesize
          end
          ""
        end

        # Zlib yields its output buffer whenever it is full, and at the end of the data. On CRuby the buffer then holds
        # the bytes after the end, on JRuby nothing.
        def self.inflate_piece(zlib, piece, &block)
          zlib.inflate(piece, &block)
          take_pending(zlib, &block) if zlib.avail_out.zero? && RUBY_ENGINE != "jruby"
          rest = zlib.flush_next_out
          block.call(rest) unless rest.empty? || zlib.finished?
        rescue Zlib::Error
          decoded = zlib.flush_next_out # before the fault
          block.call(decoded) unless decoded.empty?
          raise Failure, :CODING_DATA
        end

        # When zlib has used up its input and the output buffer is exactly full, it may have more output. inflate(nil)
        # lets it continue without input, and raises BufError because the data has not ended.
        def self.take_pending(zlib, &block)
          until zlib.finished?
            before = zlib.total_out
            yield zlib.flush_next_out
            begin
              zlib.inflate(nil, &block)
            rescue Zlib::BufError
              break if zlib.total_out == before
            end
          end
        end
        private_class_method :inflate_piece, :take_pending

        # @param values [Array<String>] the values of Content-Encoding
        # @param limit [Integer] maximum of decoded bytes; 0: no limit
        # @param ratio [Integer] maximum output of any coding per byte received; 0: no limit
        # @param lenient [Boolean]
        # @return [Codings, nil] nil: the body is not decoded
        # @raise [Failure]
        def self.for(values, limit, ratio, lenient)
          text = values.join(",")
          raise Failure, :CODING_CHAIN if text.bytesize + values.size > 256
          return zlib_for(text, limit, ratio) if lenient

          stages = stages_of(text)
          raise Failure, :CODING_CHAIN if stages.size > Limits::CODINGS

          new(stages.reverse.map(&:new), limit, ratio) unless stages.empty?
        end

        # @return [Array<Class>] empty if one coding is unknown: then the body is not decoded
        def self.stages_of(text)
          names = CommaList.elements(text).map(&:downcase).reject(&:empty?)
          names.all? { |name| KNOWN.key?(name) } ? names.filter_map { |name| KNOWN[name] } : []
        end

        def self.zlib_for(text, limit, ratio)
          new([GzipOrZlib.new], limit, ratio) if %w[gzip x-gzip deflate].include?(text.downcase)
        end
        private_class_method :zlib_for, :stages_of

        def initialize(stages, limit, ratio)
          @stages = stages
          @outputs = Array.new(stages.size, 0)
          @limit = limit
          @ratio = ratio
          @input = 0
        end

        # @yieldparam piece [String] decoded
        # @raise [Failure]
        def feed(bytes, &block)
          @input += bytes.bytesize
          run(0, bytes, &block)
        end

        # Must be called at the end of the body. An empty body is complete.
        # @raise [Failure]
        def finish
          raise Failure, :CODING_TRUNCATED if @input.positive? && !@stages.all?(&:at_end?)
        end

        private

        # Decodes the codings in turn, the last one that the server applied first.
        def run(index, bytes, &block)
          return if bytes.empty?

          stage = @stages[index] or return yield(bytes)
          stage.step(bytes) do |piece|
            @outputs[index] += piece.bytesize
            check(index)
            run(index + 1, piece, &block)
          end
        end

        # Compares each coding's output with the bytes received, so that nested codings are limited too.
        def check(index)
          output = @outputs[index]
          last = index == @stages.size - 1
          raise Failure, :BODY_TOO_LARGE if last && @limit.positive? && output > @limit

          bomb = @ratio.positive? && output > Limits::RATIO_FROM && output / @ratio > @input
          raise Failure, :CODING_RATIO if bomb
        end
      end
    end
  end
end
