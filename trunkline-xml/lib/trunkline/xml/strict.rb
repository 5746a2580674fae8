# frozen_string_literal: true

require_relative "markup"

module Trunkline
  module XML
    # Raised by {Strict} builders for output that would not be XML, and for calls that are probably a mistake.
    class StrictError < ArgumentError; end

    # A builder that refuses what Builder silently writes: names that are not XML names, comments with `--`, and calls
    # such as `to_s` and `respond_to?` that any other object would answer. Otherwise the output is the same.
    class Strict < Builder
      # NameStartChar and NameChar of XML 1.0, section 2.3, without the colon.
      START = "A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C-\\u200D" \
              "\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}"
      PART = "[#{START}][#{START}0-9.\\u00B7\\u0300-\\u036F\\u203F-\\u2040-]*".freeze
      NAME = /\A#{PART}(:#{PART})?\z/
      # Methods that are probably not meant as tags, each with what to call instead.
      SUGGESTIONS = {
        to_s: "target! (a String is interpolated with \#{xml.target!})",
        to_str: "target!",
        inspect: "target!",
        to_ary: "a block with one parameter",
        respond_to?: "nothing: a builder answers every name",
        is_a?: "Builder === xml",
        kind_of?: "Builder === xml",
        instance_of?: "Builder === xml",
        class: "Builder === xml",
        send: "__send__ or tag!",
        public_send: "__send__ or tag!",
        raise: "::Kernel.raise",
        puts: "text! or <<",
        print: "text! or <<",
        p: "text! or tag!(:p) for the tag",
        loop: "::Kernel.loop",
        require: "::Kernel.require",
        freeze: "target!.freeze",
        dup: "a new builder",
        clone: "a new builder",
        tap: "a variable",
        then: "a variable",
        hash: "__id__ or tag!(:hash) for the tag",
        object_id: "__id__"
      }.freeze
      private_constant :START, :PART, :NAME, :SUGGESTIONS

      def method_missing(name, *args, &block)
        Checks.call(name)
        super
      end

      # @raise [StrictError] when the name, or an attribute's name, is not an XML name
      def tag!(name, *args, &block)
        Checks.name("element", ::Symbol === args.first ? "#{name}:#{args.first}" : name)
        super
      end

      # @raise [StrictError] when the text has `--` or ends in `-` (XML 1.0, section 2.5)
      def comment!(text, &block)
        Checks.comment(text)
        super
      end

      # @raise [StrictError] when the name is not an XML name, or a value contains `?>` (XML 1.0, section 2.6)
      def instruct!(name = :xml, attributes = {}, &block)
        Checks.name("processing instruction", name)
        Checks.instruction(attributes)
        super
      end

      # @raise [StrictError] when the name is not an XML name
      def cdata_value!(name, text, &block)
        Checks.name("element", name)
        super
      end

      private

      def _insert_attributes(attributes, order = [])
        attributes&.each { |key, value| Checks.attribute(key, value, @quote) }
        super
      end

      # Module functions, so that a subclass may have helpers of any name.
      module Checks
        module_function

        def call(name)
          return unless SUGGESTIONS.key?(name)

          refuse("#{name} would write the tag <#{name}>. Did you mean #{SUGGESTIONS[name]}? " \
                 "For the tag: tag!(:#{name})")
        end

        def name(kind, name)
          return if name.to_s.match?(NAME)

          refuse("#{name.to_s.inspect} is not the name of an #{kind}: XML names begin with a letter or _, " \
                 "and go on with letters, digits, . - _ and one colon")
        end

        def attribute(key, value, quote)
          name("attribute", key)
          return unless quote == "'" && !(::Symbol === value) && value.to_s.include?("'")

          refuse("with quote: :single a ' in an attribute is not escaped: #{key}=#{value.inspect}")
        end

        def comment(text)
          refuse("a comment cannot contain -- or end in -: #{text.inspect}") if text.to_s.match?(/--|-\z/)
        end

        def instruction(attributes)
          attributes.each_value do |value|
            refuse("a processing instruction cannot contain ?>: #{value.inspect}") if value.to_s.include?("?>")
          end
        end

        def refuse(message)
          raise StrictError, message
        end
      end
      private_constant :Checks
    end
  end
end
