# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby # :nodoc: see waker.rb
      # The part of JSONScanner that scans strings, and compares member names with its path.
      module JSONStrings
        PLAIN = /[^"\\\x00-\x1f]*/n
        ESCAPE = %r{\\(?:["\\/bfnrt]|u\h{4})}n
        ESCAPE_BEGUN = /\\(?:u\h{0,3})?\z/n
        ESCAPED = { "b" => "\b", "f" => "\f", "n" => "\n", "r" => "\r", "t" => "\t" }.freeze
        private_constant :PLAIN, :ESCAPE, :ESCAPE_BEGUN, :ESCAPED

        private

        def name
          broken(:expected_name) unless byte == 34

          @scanner.pos += 1
          @is_name = true
          @on_name = false
          if on_path?
            @on_name = @path[depth - 1].nil?
            @positions[depth] = @on_name ? :member : :unknown
            @mark = @scanner.pos unless @on_name
          end
          @state = :string
        end

        def string
          @scanner.skip(PLAIN)
          if @scanner.eos?
            forget_long_name
            wait
          end
          case byte
          when 92 then escape
          when 34 then end_string
          else
            broken(:control_character) unless @control_characters

            @line += 1 if byte == 10
            @scanner.pos += 1
          end
        end

        # A name too long to equal the wanted one is not buffered: a byte of a name takes at most six bytes in JSON.
        def forget_long_name
          return if !@is_name || @wanted || @mark.nil?

          @mark = nil if @scanner.pos - @mark > @path[depth - 1].bytesize * 6
        end

        def escape
          return if @scanner.skip(ESCAPE)

          wait if @scanner.match?(ESCAPE_BEGUN)
          behind = @scanner.string.getbyte(@scanner.pos + 1)
          wrong = @scanner.pos + 1
          wrong += 1 + @scanner.rest.byteslice(2, 4)[/\A\h*/n].bytesize if behind == 117
          fail_at(wrong, :invalid_escape) if behind == 117 || !@invalid_escape || behind < 32

          @scanner.pos += 2
        end

        def end_string
          end_name if @is_name
          @scanner.pos += 1
          return end_value unless @is_name

          @state = :colon
        end

        def end_name
          return if @mark.nil? || @wanted

          @on_name = decoded(@scanner.string.byteslice(@mark, @scanner.pos - @mark)) == @path[depth - 1].b
          @positions[depth] = :member if @on_name
          @mark = nil
        end

        def decoded(raw)
          return raw unless raw.include?("\\")

          raw.gsub(/\\u(d[89ab]\h\h)\\u(d[c-f]\h\h)|\\u(\h{4})|\\(.)/in) do
            high, low, code, letter = Regexp.last_match.captures
            next ESCAPED.fetch(letter, letter).b if letter

            number = high ? 0x10000 + ((high.hex - 0xd800) << 10) + (low.hex - 0xdc00) : code.hex
            number.between?(0xd800, 0xdfff) ? "\xED".b : [number].pack("U").b
          end
        end
      end
    end
  end
end
