# frozen_string_literal: true

require "ripper"

module Trunkline
  module XML
    module Rails
      # Renders lines of a template when it is compiled, if their output is always the same: lines that are a single
      # call of the template's own `xml`, with only literals as arguments.
      #
      #   xml.version "2.0"
      #   xml.link rel: "self", href: "/feed"
      #
      # becomes one call that appends bytes. The original lines remain as the alternative, for a builder that is not in
      # C, or has been changed since. Other lines are unchanged, and all lines keep their numbers. Without the
      # extension, no line is changed.
      class TemplateCompiler
        # Names of methods that do not write a line with a tag.
        NOT_TAGS = (BasicObject.instance_methods + Builder.instance_methods - %i[tag! comment! cdata!]).freeze
        LITERALS = %i[@int @float @tstring_content @label @kw @ident @const].freeze
        CONTAINERS = %i[string_literal string_content symbol_literal symbol bare_assoc_hash assoc_new hash
                        assoclist_from_args args_add_block].freeze

        # Collects all statements of the source. Calls inside other expressions are excluded: their value may be used,
        # or they may not be executed.
        class Parser < Ripper::SexpBuilderPP
          attr_reader :statements

          def on_stmts_add(list, statement)
            (@statements ||= []) << statement
            super
          end
        end
        private_constant :NOT_TAGS, :LITERALS, :CONTAINERS, :Parser

        # @param source [String] of the template
        # @return [String] the compiled source, with the same number of lines
        def self.compile(source)
          new(source).compile
        end

        def initialize(source)
          @lines = source.lines
          @parser = Parser.new(source)
          @tree = @parser.parse
        end

        def compile
          return @lines.join if !Builder.const_defined?(:Native, false) || @parser.error? || xml_rebound?(@tree)

          starts = tag_calls
          (0...@lines.size).slice_when { |*lines| lines.any? { |line| static_output(line, starts).nil? } }
            .each { |run| fuse(run) if static_output(run.first, starts) }
          @lines.join
        end

        private

        def fuse(run)
          bytes = run.map { |line| @outputs[line] }.join("\0")
          calls = run.map { |line| @lines[line].strip }.join("; ")
          endings = run.map { |line| @lines[line][/\R?\z/] }
          @lines[run.first] = "::Trunkline::XML::Builder::Native.write_lines(xml, #{bytes.dump}.freeze) || " \
                              "(#{calls})#{endings.first}"
          run.drop(1).zip(endings.drop(1)) { |line, ending| @lines[line] = ending }
        end

        # The text that the line writes, without indentation; nil if it is not known before the template is rendered.
        def static_output(index, starts)
          @outputs ||= {}
          @outputs.fetch(index) { @outputs[index] = starts[index + 1] && render(@lines[index], starts[index + 1]) }
        end

        def render(line, call)
          parsed = Ripper.sexp(line)
          return if parsed.nil? || Ripper.lex(line).any? { |token| token[1] == :on_comment }
          return unless parsed[1].size == 1 && without_positions(parsed[1][0]) == without_positions(call)

          # The line has only literals, so its evaluation can only write.
          builder = Builder.new
          evaluate(builder, line)
          builder.target! unless builder.target!.include?("\0") || !builder.target!.valid_encoding?
        rescue StandardError, SyntaxError
          nil # The line must raise when the template is rendered, not now.
        end

        def evaluate(xml, line)
          xml.nil? # a use of xml, which only the evaluated line uses otherwise
          binding.eval(line)
        end

        # The statements that begin a line, by its number.
        def tag_calls
          @parser.statements.each_with_object({}) do |statement, starts|
            line, column = position(statement)
            starts[line] ||= statement if line && @lines[line - 1].byteslice(0, column).strip.empty?
          end
        end

        # Line and column of the node, if it is a call of `xml` with only literals; else nil.
        def position(node)
          call, arguments = call_and_arguments(node)
          return unless call.is_a?(Array) && %i[command_call call].include?(call[0])

          receiver = call[1]
          return unless %i[vcall var_ref].include?(receiver[0]) && receiver.dig(1, 1) == "xml"

          receiver.dig(1, 2) if tag?(call[3]) && literal?(arguments)
        end

        def call_and_arguments(node)
          case node[0]
          when :command_call then [node, node[4]]
          when :method_add_arg then [node[1], node[2]&.dig(1)]
          when :call then [node, nil]
          end
        end

        def tag?(name)
          name.is_a?(Array) && %i[@ident @const @kw].include?(name[0]) && !NOT_TAGS.include?(name[1].to_sym) &&
            (name[1].match?(/\A\w+\z/) || %w[tag! comment! cdata!].include?(name[1]))
        end

        def literal?(node)
          return node != :call unless node.is_a?(Array)
          return node.all? { |child| literal?(child) } unless node[0].is_a?(Symbol)
          return %w[nil true false].include?(node.dig(1, 1)) if node[0] == :var_ref
          return LITERALS.include?(node[0]) if node[0].start_with?("@")

          CONTAINERS.include?(node[0]) && self_contained?(node) && node.drop(1).all? { |child| literal?(child) }
        end

        # Whether no block is passed (`&block`), and no `name:` has its value omitted, which reads a variable or a
        # method.
        def self_contained?(node)
          case node[0]
          when :args_add_block then node[2] == false
          when :assoc_new then node[2]
          else true
          end
        end

        # Whether the template assigns to `xml`, or has a parameter of that name.
        def xml_rebound?(node)
          return false unless node.is_a?(Array)
          return true if %i[var_field].include?(node[0]) && node.dig(1, 1) == "xml"
          return true if %i[params block_var].include?(node[0]) && node.flatten.include?("xml")

          node.any? { |child| xml_rebound?(child) }
        end

        def without_positions(node)
          return node unless node.is_a?(Array)
          return node.first(2) if node[0].is_a?(Symbol) && node[0].start_with?("@")

          node.map { |child| without_positions(child) }
        end
      end
    end
  end
end
