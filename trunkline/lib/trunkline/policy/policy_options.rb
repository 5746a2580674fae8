# frozen_string_literal: true

require_relative "../errors"
require_relative "../timeouts"

module Trunkline
  module Policy
    # The options of one policy: their names, defaults and checks. They check the value of an option such as retry:.
    #
    #   OPTIONS = PolicyOptions.new(:retry, attempts: [3, PolicyOptions.integer(1..20)])
    #   OPTIONS.read(true)            # => {attempts: 3}
    #   OPTIONS.read({ attempts: 5 }) # => {attempts: 5}
    #
    # @api private
    class PolicyOptions
      # The check of an option: a description of the allowed values for the error message, and a callable that returns
      # the converted value, or nil when the value is not allowed.
      Check = Struct.new(:allowed, :convert) do
        def call(value) = convert.call(value)
      end

      class << self
        # @param range [Range]
        # @return [Check]
        def integer(range)
          Check.new("an Integer from #{range.min} to #{range.max}",
                    ->(value) { value if value.is_a?(Integer) && range.cover?(value) })
        end

        # @param range [Range] of Floats
        # @return [Check]
        def number(range, unit = nil)
          Check.new("a number from #{range.begin} to #{range.end}#{" (#{unit})" if unit}", lambda do |value|
            value = Timeouts.plain(value)
            value.to_f if value.is_a?(Numeric) && value.real? && range.cover?(value.to_f)
          end)
        end

        # @param most [Numeric]
        # @return [Check]
        def seconds(most = 86_400.0) = number(0.0..most.to_f, "seconds")

        # @return [Check]
        def boolean = one_of(true, false)

        # @return [Check] which wraps the value in Wrapped, because false or nil may be allowed
        def one_of(*values)
          Check.new(values.map(&:inspect).join(" or "), ->(value) { Wrapped.new(value) if values.include?(value) })
        end

        # @return [Check]
        def callable(what = "callable")
          Check.new(what, ->(value) { value if value.respond_to?(:call) })
        end

        # @param checks [Array<Check>] one of them must accept the value
        # @return [Check]
        def any(*checks)
          Check.new(checks.map(&:allowed).join(", or "), lambda do |value|
            checks.each do |check|
              converted = check.call(value)
              return converted unless converted.nil?
            end
            nil
          end)
        end
      end

      # A checked value that may be false or nil.
      Wrapped = Struct.new(:value)

      # @return [Symbol] the option
      attr_reader :option

      # @param option [Symbol]
      # @param table [Hash{Symbol => Array(Object, Check)}] default and check of each option
      def initialize(option, table)
        @option = option
        @checks = table.transform_values(&:last).freeze
        @defaults = table.transform_values(&:first).freeze
        freeze
      end

      # @param value [true, Hash]
      # @return [Hash{Symbol => Object}] every option
      # @raise [InvalidRequest]
      def read(value)
        return @defaults if value == true
        raise InvalidRequest.of(option, value, "true, false, or a Hash of #{names.join(", ")}") unless value.is_a?(Hash)

        @defaults.merge(value.to_h { |name, given| [name, checked(name, given)] })
      end

      # @return [Array<Symbol>]
      def names = @checks.keys

      private

      def checked(name, given)
        check = @checks[name] or raise unknown(name)
        converted = check.call(given)
        if converted.nil?
          raise InvalidRequest, "#{option}: #{name}: must be #{check.allowed}, got #{shown(name, given)}"
        end

        converted.is_a?(Wrapped) ? converted.value : converted
      end

      def shown(name, given)
        given.is_a?(Array) || given.is_a?(Range) ? given.inspect[0, 80] : InvalidRequest.shown(name, given)
      end

      def unknown(name)
        nearest = DidYouMean::SpellChecker.new(dictionary: @checks.keys).correct(name).first if defined?(DidYouMean)
        hint = "; did you mean #{nearest}:?" if nearest
        shown = name.is_a?(Symbol) || name.is_a?(String) ? name.inspect[0, 60] : "of class #{name.class}"
        InvalidRequest.new("#{option}: has no setting #{shown}#{hint}; it has #{names.join(", ")}")
      end
    end
  end
end
