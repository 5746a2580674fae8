# frozen_string_literal: true

require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # The directives of a Cache-Control field (RFC 9111 5.2), of a request or a response. Frozen.
      class Directives
        include Redacted

        TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/
        # A directive, its value (quoted or not), and any other text before the next comma.
        DIRECTIVE = /\G[\s,]*(#{TOKEN})(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,]*)))?(?:"(?:[^"\\]|\\.)*"|[^,"])*/n
        # RFC 9111 1.2.2: a larger number counts as this one.
        MOST = 2**31
        private_constant :TOKEN, :DIRECTIVE

        # @param text [String, nil]
        # @return [Directives]
        def self.of(text) = text.nil? || text.empty? ? NONE : new(text)

        # @param text [String] several fields joined by ", "
        def initialize(text)
          @values = {}
          text.b.scan(DIRECTIVE) { |name, quoted, plain| add(name.downcase, quoted || plain) }
          freeze
        end

        # @return [Boolean] whether there are directives
        def any? = !@values.empty?

        # @param name [String] in lower case
        # @return [Boolean]
        def key?(name) = @values.key?(name)

        # @return [Integer, nil] seconds; 0, the strictest value, if the value is not a number; nil without the
        #   directive
        def seconds(name)
          return unless @values.key?(name)

          text = @values[name]
          text&.match?(/\A\d+\z/) ? [text.to_i, MOST].min : 0
        end

        # @return [Boolean] whether the directive is present without a value
        def bare?(name) = @values.key?(name) && @values[name].nil?

        # The strictest value, which is the lowest number, wins when a directive is repeated.
        def add(name, value)
          known = @values[name]
          @values[name] = known && value && value.to_i > known.to_i ? known : value
        end

        private :add

        NONE = new("")
      end
    end
  end
end
