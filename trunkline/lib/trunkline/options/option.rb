# frozen_string_literal: true

require_relative "../loading"
require_relative "checks"

module Trunkline
  class Options
    # One row of the table of options. Frozen. Its members:
    #
    #   name         Symbol
    #   type         in RBS; with "?" at its end, nil is allowed and stays nil
    #   doc          what the option does, with its unit
    #   check_name   the method of Checks; nil when the value is checked where it is used
    #   allowed      the third argument of that method, if it takes one
    #   default      checked, as the library uses it
    #   default_doc  the default in words; nil when there is none
    #   set_by       :both for a client and a call, :client, :call, :many for a request among many, or :process for
    #                Trunkline.configure
    #   per_call     whether a call's value needs no other set of options
    #   limit        whether Stats#bounds tells the value
    #   hidden       whether inspect hides the value
    #   engine       the key under which the engine is told the value, or a Hash of each key to the Proc that makes its
    #                value; nil when the engine is not told
    #   group        the Hash in which the engine is told the value; nil for the outermost
    #
    # @api private
    Option = Struct.new(:name, :type, :doc, :check_name, :allowed, :default, :default_doc, :set_by, :per_call, :limit,
                        :hidden, :engine, :group, keyword_init: true) do
      def initialize(name, type, doc, check:, default: nil, default_doc: default&.inspect, set_by: :both,
                     per_call: set_by == :call, **rest)
        super(name: name, type: type, doc: doc, check_name: check, default: default, default_doc: default_doc,
              set_by: set_by, per_call: per_call, **rest)
        freeze
      end

      # @return [Array<Array>] of each value that the engine is told: the variable of Options, the engine's key, and a
      #   Proc that makes the value of the variable's, or nil
      def told
        return [[:"@#{name}", engine, nil]] if engine.is_a?(Symbol)

        engine.to_h.map { |key, convert| [:"@#{name}", key, convert] }
      end

      # @return [Boolean]
      def optional? = type.end_with?("?")

      # @param value [Object] as the caller gave it
      # @return [Object] as the library uses it
      # @raise [InvalidRequest]
      def check(value)
        return value if check_name.nil? || (value.nil? && optional?)

        Loading.ahead_of_fibers
        checked(value)
      rescue EncodingError, ArgumentError => error
        raise if error.is_a?(InvalidRequest)

        checked(as_bytes(value))
      end

      private

      def checked(value)
        return Checks.public_send(check_name, name, value) if allowed.nil?

        Checks.public_send(check_name, name, value, allowed)
      end

      # No regular expression reads text that its encoding breaks, or UTF-16. It is checked as its bytes.
      def as_bytes(value)
        case value
        when String then value.b
        when Array then value.map { |part| as_bytes(part) }
        when Hash then value.to_h { |key, part| [as_bytes(key), as_bytes(part)] }
        else value
        end
      end
    end
  end
end
