# frozen_string_literal: true

require "strscan"
require_relative "json_strings"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Finds the beginning and end of each wanted value of a JSON stream (RFC 8259), wherever the stream is divided.
      # Checks the syntax of all bytes, and buffers no more than the current value.
      class JSONScanner
        include JSONStrings
        include Redacted

        WORDS = {
          expected_value: "expected a value", expected_name: "expected the name of a member",
          expected_colon: "expected ':'", comma_in_array: "expected ',' or ']'",
          comma_in_object: "expected ',' or '}'", expected_end: "expected nothing more",
          expected_line_end: "expected the end of the line",
          expected_record: "expected a record, which begins with byte 1E",
          line_ended: "the line ends within a value", record_cut: "the record is cut short",
          cut: "it is cut short", invalid_number: "invalid number",
          control_character: "a control character in a string", invalid_escape: "invalid escape in a string",
          too_deep: "nested too deeply", too_large: "a value is too large"
        }.freeze
        RECORD = 0x1e
        MARK = "\xEF\xBB\xBF".b.freeze
        BLANKS = /[ \t\r\n]*/n
        NUMBER = /\A-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\z/n
        NUMBER_BEGUN = /-?(?:(?:0|[1-9]\d*)(?:\.\d*(?:(?<=\d)[eE][+-]?\d*)?|[eE][+-]?\d*)?)?/n
        LITERALS = { "t" => "true", "f" => "false", "n" => "null" }.freeze
        NAN_LITERALS = LITERALS.merge("N" => "NaN", "I" => "Infinity", "-" => "-Infinity").freeze
        ENDS = " \t\r\n,]}".bytes.to_h { |byte| [byte, true] }.freeze
        private_constant :WORDS, :RECORD, :MARK, :BLANKS, :NUMBER, :NUMBER_BEGUN, :LITERALS, :NAN_LITERALS, :ENDS

        # A value: its bytes, the byte (from 1) and line at which it begins, and the element indexes that lead to it.
        Value = Struct.new(:bytes, :byte, :line, :positions) { include Redacted }

        # @param form [:document, :lines, :sequence, :detected]
        # @param path [Array<String, nil>]
        # @param options [Hash] see JSONBatches
        def initialize(form, path, options)
          @form = form
          @path = form == :detected ? [nil] : path
          @most = options[:limit] || Float::INFINITY
          @max_nesting = options.fetch(:max_nesting)
          @nan, @trailing_comma, @control_characters, @invalid_escape =
            options.values_at(:allow_nan, :allow_trailing_comma, :allow_control_characters, :allow_invalid_escape)
          @scanner = StringScanner.new("".b)
          @offset = 0
          @line = 1
          @state = :start
          @arrays = []
          @on_path = 0
          @positions = Array.new(@path.size + 1)
          @positions[0] = -1
        end

        # Adds bytes to the stream.
        def feed(bytes)
          done = @mark || @scanner.pos
          drop(done) if done.positive?
          @scanner << bytes.b
        end

        def finish
          @finished = true
        end

        # @return [Value, nil] nil: all bytes that were fed are scanned, the stream has ended, or it has failed
        #   (#failure)
        def next_value
          return if @failure

          result = catch(:stopped) { loop { take_step } }
          return result if result.is_a?(Value) || @failure

          catch(:stopped) do
            fail_at(@scanner.string.bytesize, :too_large) if @wanted && @scanner.string.bytesize - @mark > @most
            check_end if @finished
          end
          nil
        end

        # @return [Array, nil] [kind, words, byte, line, positions]
        def failure
          return unless @failure

          byte = @offset + @scanner.pos + 1
          byte -= 1 if @scanner.eos? && byte > 1
          kind = %i[too_large too_deep].include?(@failure) ? @failure : :invalid
          [kind, WORDS.fetch(@failure), byte, @line, positions]
        end

        private

        # Discards scanned bytes. A value in progress is moved to the beginning once, and not copied again for each part
        # that is fed.
        def drop(done)
          at = @scanner.pos - done
          @scanner.string = @scanner.string.byteslice(done..)
          @scanner.pos = at
          @mark = 0 if @mark
          @offset += done
        end

        def document? = @form == :document
        def depth = @arrays.size
        def on_path? = !@wanted && depth == @on_path && depth.positive?

        # @return [Array<Integer, nil>] for each level the index of an element, or nil for a member
        def positions
          found = if document?
                    @positions[1, @on_path]
                  else
                    (@positions.first.negative? ? [] : @positions.first(1))
                  end
          found = found.take_while { |one| one != :unknown }
          found.map { |one| one unless one == :member }
        end

        # ---- steps: each throws :stopped, or returns ----

        def wait = throw(:stopped, nil)

        # If the wanted value exceeded its limit before that byte, its size is the failure.
        def fail_at(at, failure)
          failure = :record_cut if @form == :sequence && @scanner.string.getbyte(at) == RECORD
          if @wanted && at - @mark > @most
            at = @mark
            @line = @value_line
            failure = :too_large
          end
          @scanner.pos = at
          @failure = failure
          throw(:stopped, nil)
        end

        def broken(failure) = fail_at(@scanner.pos, failure)

        def byte = @scanner.string.getbyte(@scanner.pos)

        def take_step
          case @state
          when :string then return @scanner.eos? ? wait : string
          when :number then return number
          when :scalar_ended then return end_scalar
          end
          skip_blanks
          wait if @scanner.eos?
          send(@state)
        end

        def skip_blanks
          blanks = @scanner.scan(BLANKS)
          return if blanks.empty? || !blanks.include?("\n")

          if @form == :lines && depth.positive?
            fail_at(@scanner.pos - blanks.bytesize + blanks.index("\n"), :line_ended)
          end
          @line += blanks.count("\n")
          @line_ended = true
        end

        # Skips a byte order mark (RFC 8259 8.1).
        def start
          if (@offset + @scanner.pos).zero?
            rest = @scanner.rest.byteslice(0, 3)
            wait if rest.bytesize < 3 && MARK.start_with?(rest) && !@finished
            return @scanner.pos += 3 if rest == MARK
          end
          detect if @form == :detected
          @state = @form == :sequence ? :root_ended : :root
        end

        def detect
          @form = { RECORD => :sequence, 91 => :document }.fetch(byte, :values)
          @path = [] unless document?
        end

        def root = between
        def root_ended = between

        def between
          if @form == :sequence && byte == RECORD
            @scanner.pos += 1
            return @state = :root
          end
          if @state == :root || (@line_ended && !document? && @form != :sequence)
            @state = :value
            @positions[0] += 1
            return value
          end
          broken({ document: :expected_end, sequence: :expected_record }.fetch(@form, :expected_line_end))
        end

        def first_element = byte == 93 ? close_container : value
        def first_name = byte == 125 ? close_container : name

        def colon
          broken(:expected_colon) unless byte == 58

          @scanner.pos += 1
          @state = :value
        end

        def value
          first = byte
          opens = [91, 123].include?(first)
          compare_with_path(opens, first == 91) if !@wanted && depth == @on_path
          return open_container(first == 91) if opens

          case first
          when 34
            @scanner.pos += 1
            @is_name = false
            @state = :string
          when 45, 48..57 then begin_number(first)
          else literal
          end
        end

        def begin_number(first)
          if first == 45 && @nan
            behind = @scanner.string.getbyte(@scanner.pos + 1)
            wait if behind.nil? && !@finished
            return literal if behind == 73
          end
          @state = :number
        end

        # ---- beginning and end of values ----

        # Compares the position of the value that begins here with the path.
        def compare_with_path(opens, is_array)
          matches = depth.zero? || matches_segment?
          if matches && depth == @path.size
            @wanted = true
            @wanted_at = depth
            @mark = @scanner.pos
            @value_line = @line
          elsif matches && opens
            @on_path += 1
            @positions[@on_path] = is_array ? 0 : :unknown
          end
        end

        def matches_segment?
          return @on_name unless @arrays.last

          segment = @path[depth - 1]
          segment.nil? || segment == @positions[depth].to_s
        end

        def open_container(is_array)
          broken(:too_deep) if @max_nesting.positive? && depth >= @max_nesting

          @arrays << is_array
          @scanner.pos += 1
          @state = is_array ? :first_element : :first_name
        end

        def close_container
          @scanner.pos += 1
          @on_path -= 1 if !@wanted && @on_path == depth
          @arrays.pop
          end_value
        end

        def end_value
          @state = depth.positive? ? :value_ended : :root_ended
          @line_ended = false
          take if @wanted && depth == @wanted_at
        end

        # Throws the value that ends here to #next_value.
        def take
          broken(:too_large) if @scanner.pos - @mark > @most

          byte = @offset + @mark + 1
          found = Value.new(@scanner.string.byteslice(@mark, @scanner.pos - @mark), byte, @value_line, positions)
          @wanted = false
          @mark = nil
          throw(:stopped, found)
        end

        def value_ended
          return after_comma if byte == 44
          return close_container if byte == (@arrays.last ? 93 : 125)

          broken(@arrays.last ? :comma_in_array : :comma_in_object)
        end

        def after_comma
          @scanner.pos += 1
          if @arrays.last
            @positions[depth] += 1 if on_path?
            @state = @trailing_comma ? :first_element : :value
          else
            @positions[depth] = :unknown if on_path?
            @state = @trailing_comma ? :first_name : :name
          end
        end

        # ---- numbers and literals ----

        # Returns whether the end of the bytes ends a number or literal.
        def last? = @finished && depth.zero?

        def number
          begun = @scanner.scan(NUMBER_BEGUN)
          if @scanner.eos? && !(last? && begun.match?(NUMBER))
            @scanner.pos -= begun.bytesize # it is scanned again with the bytes that follow
            wait
          end
          broken(:invalid_number) unless begun.match?(NUMBER)

          @scalar_is_number = true
          @state = :scalar_ended
          end_scalar
        end

        def literal
          rest = @scanner.rest
          word = (@nan ? NAN_LITERALS : LITERALS)[rest[0]] || (rest[0] == "-" && "-Infinity")
          broken(:expected_value) unless word

          compared = rest.byteslice(0, word.bytesize)
          unless word.start_with?(compared)
            same = compared.each_char.with_index.find_index { |char, index| char != word[index] }
            fail_at(@scanner.pos + same, word.start_with?("-") ? :invalid_number : :expected_value)
          end
          wait if compared.bytesize < word.bytesize
          @scanner.pos += word.bytesize
          @scalar_is_number = false
          @state = :scalar_ended
          end_scalar
        end

        # In a sequence, a number or literal may be cut off unless white space follows it (RFC 7464 2.4).
        def end_scalar
          record = @form == :sequence && depth.zero?
          if @scanner.eos?
            wait unless last?
            broken(:record_cut) if record
            return end_value
          end
          return end_value if ENDS.key?(byte) && !(record && [44, 93, 125].include?(byte))

          broken(@scalar_is_number ? :invalid_number : :expected_value)
        end

        # Called when all bytes are scanned and no more will be fed.
        def check_end
          nothing = (@offset + @scanner.string.bytesize).zero?
          return if @scanner.eos? && @state == :root_ended
          return if @scanner.eos? && %i[start root].include?(@state) && (!document? || nothing)

          fail_at(@scanner.string.bytesize, @form == :sequence ? :record_cut : :cut)
        end
      end
    end
  end
end
