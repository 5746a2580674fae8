# frozen_string_literal: true

require "securerandom"
require_relative "errors"
require_relative "headers"
require_relative "redacted"

module Trunkline
  # Field values that the caller computes anew for each request that a call sends: callable bearer: and basic:, and
  # callable values of headers:.
  #
  # The request is composed with a Placeholder for each callable, so that the usual rules decide which field replaces
  # which and which field is sent to which origin. Policy::FieldValues replaces the placeholders before each request is
  # sent.
  #
  # @api private
  class AttemptValues
    include Redacted

    # Takes the place of a callable's value. Its text is random, so no other field has it.
    class Placeholder < String
      BEGINNING = "value-of-each-attempt-"
      private_constant :BEGINNING

      # @param text [String]
      # @return [Boolean] whether text is that of a Placeholder
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

      # @param headers [Object] headers: of a caller
      # @return [Object] headers with a Placeholder for each callable
      def headers_with_placeholders(headers)
        case headers
        when Hash then headers.transform_values { |value| placeholder_for(value) }
        when Array then headers.map { |name, *values| [name, *values.map { |value| placeholder_for(value) }] }
        else headers
        end
      end

      # @return [Object] a Placeholder for a callable; any other value unchanged
      def placeholder_for(value)
        callable?(value) ? Placeholder.new(value) : value
      end

      # @param options [Hash{Symbol => Object}] per-call options of a caller
      # @return [Array(Hash, AttemptValues)] the options with Placeholders, and their values; nil for the values when no
      #   option is callable
      # @raise [InvalidRequest] for an invalid bearer: or basic:
      def of_call(options)
        checked = options.to_h do |name, value|
          value = headers_with_placeholders(value) if name == :headers
          value = Options.check(name, value) if %i[bearer basic].include?(name) && callable?(value)
          [name, value]
        end
        headers = checked[:headers]
        pairs = headers.is_a?(Hash) || headers.is_a?(Array) ? headers.to_a : [] # no other type has Placeholders
        [checked, of(pairs, checked[:bearer], checked[:basic])]
      end

      # @param headers [Array<Array>] pairs
      # @param bearer [String, Placeholder, nil]
      # @param basic [Array, nil] user and password; the user may be a Placeholder
      # @return [AttemptValues, nil] nil without a Placeholder
      def of(headers, bearer, basic)
        values = headers.filter_map { |_, value| [value.to_str, [:header, value]] if value.is_a?(Placeholder) }.to_h
        values["Bearer #{bearer}"] = [:bearer, bearer] if bearer.is_a?(Placeholder)
        values[Headers.basic(basic)] = [:basic, basic[0]] if basic.is_a?(Array) && basic[0].is_a?(Placeholder)
        new(values) unless values.empty?
      end
    end

    # @param values [Hash{String => Array(Symbol, Placeholder)}] keys: field values of the composed request
    def initialize(values)
      @values = values.freeze
      freeze
    end

    # @param other [AttemptValues, nil]
    # @return [AttemptValues] the values of both
    def merge(other)
      other ? AttemptValues.new(@values.merge(other.values)) : self
    end

    # Computes the values of one header field for the next request, by the callable of its Placeholder.
    #
    # @param name [String] name of the field
    # @param composed [String] value of the field in the composed request
    # @return [Array<String, nil>] the values to send, one field each; [nil] to leave the field out
    # @raise [InvalidRequest] when the callable returns a value that cannot be sent
    # @raise [Exception] any exception of the callable
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
