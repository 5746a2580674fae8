# frozen_string_literal: true

require_relative "checks"

module Trunkline
  class Options
    # One row of the table of options: who may set the option, what it may be, and what the engine is told of it.
    #
    # @api private
    class Option
      # @return [Symbol]
      attr_reader :name
      # @return [Symbol] :both for a client and a call, :client, :call, or :process for Trunkline.configure alone
      attr_reader :set_by
      # @return [Object] as the library uses it, checked
      attr_reader :default
      # @return [String] in RBS
      attr_reader :type
      # @return [String] what the option does, with its unit
      attr_reader :doc
      # @return [Symbol, nil] the Hash in which the engine is told the value; nil for the outermost
      attr_reader :group

      # @param name [Symbol]
      # @param type [String] in RBS; with "?" at its end, nil is allowed and stays nil
      # @param doc [String] what the option does, with its unit
      # @param check [Symbol, nil] the method of Checks; nil when the value is checked where it is used
      # @param allowed [Object] the method's third argument, if it takes one
      # @param default [Object]
      # @param default_doc [String, nil] the default in words, where its value alone does not tell
      # @param set_by [Symbol]
      # @param per_call [Boolean] whether a call lays its value over the client's without other options being made
      # @param limit [Boolean] whether Stats#bounds tells the value
      # @param hidden [Boolean] whether inspect hides the value
      # @param engine [Symbol, Hash{Symbol => Proc}, nil] the key under which the engine is told the value, or each key
      #   and what makes its value
      # @param group [Symbol, nil] see #group
      def initialize(name, type, doc, check:, allowed: nil, default: nil, default_doc: nil, set_by: :both,
                     per_call: set_by == :call, limit: false, hidden: false, engine: nil, group: nil)
        @name = name
        @type = type
        @doc = doc
        @check = check
        @allowed = allowed
        @default = default
        @default_doc = default_doc
        @set_by = set_by
        @per_call = per_call
        @limit = limit
        @hidden = hidden
        @engine = engine
        @group = group
        freeze
      end

      # @return [Boolean]
      def per_call? = @per_call

      # @return [Boolean]
      def limit? = @limit

      # @return [Boolean]
      def hidden? = @hidden

      # @return [Array<Array>] of each value that the engine is told: the variable of Options, the engine's key, and a
      #   Proc that makes the value of the variable's, or nil
      def told
        return [[:"@#{@name}", @engine, nil]] if @engine.is_a?(Symbol)

        @engine.to_h.map { |key, convert| [:"@#{@name}", key, convert] }
      end

      # @return [Boolean] whether nil is allowed and stays nil
      def optional? = @type.end_with?("?")

      # @return [String, nil] the default in words; nil when there is none
      def default_doc
        @default_doc || @default&.inspect
      end

      # @param value [Object] as the caller gave it
      # @return [Object] as the library uses it
      # @raise [InvalidRequest]
      def check(value)
        return value if @check.nil? || (value.nil? && optional?)
        return Checks.public_send(@check, @name, value) if @allowed.nil?

        Checks.public_send(@check, @name, value, @allowed)
      end
    end
  end
end
