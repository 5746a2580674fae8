# frozen_string_literal: true

require "securerandom"
require_relative "errors"
require_relative "headers"
require_relative "redacted"

module Trunkline
  # Values of fields that the caller computes anew for each request that a call sends: bearer: and basic: that are
  # callable, and callable values of headers:.
  #
  # A request is composed with a Placeholder for each, so that the usual rules say which field replaces which, and which
  # goes to which origin. Policy::FieldValues puts the values in their places before the request is sent.
  #
  # @api private
  class AttemptValues
    include Redacted

    # Stands for the value of a callable; its text is in no other field.
    class Placeholder < String
      BEGINNING = "value-of-each-attempt-"
      private_constant :BEGINNING

      # @param text [String]
      # @return [Boolean] whether it is the text of one
      def self.text?(text) = text.start_with?(BEGINNING)

      # @return [#call]
      attr_reader :callable

      def initialize(callable)
        @callable = callable
        super("#{BEGINNING}#{SecureRandom.hex(16)}")
        freeze
      end
    end

    class << self
      # @param value [Object]
      # @return [Boolean]
      def callable?(value)
        !value.is_a?(String) && !value.is_a?(Symbol) && value.respond_to?(:call)
      end

      # @param headers [Object] as a caller gave them
      # @return [Object] with a Placeholder for each callable
      def in_headers(headers)
        case headers
        when Hash then headers.transform_values { |value| in_place_of(value) }
        when Array then headers.map { |name, *values| [name, *values.map { |value| in_place_of(value) }] }
        else headers
        end
      end

      # @return [Object] a Placeholder for what is callable; all else as it is
      def in_place_of(value)
        callable?(value) ? Placeholder.new(value) : value
      end

      # @param options [Hash{Symbol => Object}] a call's own, as given
      # @return [Array(Hash, AttemptValues)] the options with Placeholders, and these; nil when there is none
      # @raise [InvalidRequest]
      def of_call(options)
        checked = options.to_h do |name, value|
          value = in_headers(value) if name == :headers
          value = Options.check(name, value) if %i[bearer basic].include?(name) && callable?(value)
          [name, value]
        end
        headers = checked[:headers]
        pairs = headers.is_a?(Hash) || headers.is_a?(Array) ? headers.to_a : [] # no others have a Placeholder
        [checked, of(pairs, checked[:bearer], checked[:basic])]
      end

      # @param headers [Array<Array>] pairs
      # @param bearer [String, Placeholder, nil]
      # @param basic [Array, nil] of which the user may be a Placeholder
      # @return [AttemptValues, nil] nil when nothing is a Placeholder
      def of(headers, bearer, basic)
        values = headers.filter_map { |_, value| [value.to_str, [:header, value]] if value.is_a?(Placeholder) }.to_h
        values["Bearer #{bearer}"] = [:bearer, bearer] if bearer.is_a?(Placeholder)
        values[Headers.basic(basic)] = [:basic, basic[0]] if basic.is_a?(Array) && basic[0].is_a?(Placeholder)
        new(values) unless values.empty?
      end
    end

    # @param values [Hash{String => Array(Symbol, Placeholder)}] by the composed value of a field
    def initialize(values)
      @values = values.freeze
      freeze
    end

    # @param other [AttemptValues, nil]
    # @return [AttemptValues] those of both
    def merge(other)
      other ? AttemptValues.new(@values.merge(other.values)) : self
    end

    # Calls what was given for a field.
    #
    # @param name [String] of the field
    # @param composed [String] its value in the composed request
    # @return [Array<String, nil>] what to send, a field for each; nil to leave the field out
    # @raise [InvalidRequest] for a value that cannot be sent
    # @raise [Exception] whatever the callable raises
    def fetch(name, composed)
      kind, placeholder = @values[composed]
      return [composed] unless kind

      value = placeholder.callable.call
      return [nil] if value.nil? || value == []

      case kind
      when :bearer then ["Bearer #{checked(:bearer, value)}"]
      when :basic then [Headers.basic(checked(:basic, value))]
      else Headers.pairs({ name => value }).map(&:last)
      end
    end

    protected

    attr_reader :values

    private

    def checked(option, value)
      raise InvalidRequest.of(option, value, "a value when it was called") if AttemptValues.callable?(value)

      Options.check(option, value)
    end
  end
end
