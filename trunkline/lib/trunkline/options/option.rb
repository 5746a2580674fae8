# frozen_string_literal: true

require_relative "../loading"
require_relative "checks"

module Trunkline
  class Options
    # One row of the table of options. Frozen. Its members:
    #
    #   name         Symbol
    #   type         the type in RBS; if it ends with "?", nil is allowed and stays nil
    #   doc          what the option does, with its unit
    #   check_name   the method of Checks; nil when the value is checked where it is used
    #   allowed      the third argument of that method, if it takes one
    #   default      the checked value, as the library uses it
    #   default_doc  the default in words; nil when there is none
    #   set_by       :both for a client and a call, :client, :call, :many for a request among many, or :process for
    #                Trunkline.configure
    #   per_call     whether a call can override the value without making a new set of options
    #   compared     when the values of two clients must be equal for them to share a response: :never, :coalescing
    #                (only in Policy::Coalesce, see Options#sharing), or :always (also in Policy::Cache, see
    #                Options#identity); nil for the options that no client has
    #   facades      whether a facade accepts the option in addition to those of the library that it replaces
    #   limit        whether Stats#bounds includes the value
    #   hidden       whether inspect hides the value
    #   engine       the key under which the value is passed to the engine, or a Hash of each key to the Proc that
    #                makes its value; nil when the value is not passed
    #   group        the nested Hash in which the value is passed to the engine; nil for the outermost Hash
    #
    # @api private
    Option = Struct.new(:name, :type, :doc, :check_name, :allowed, :default, :default_doc, :set_by, :per_call,
                        :compared, :facades, :limit, :hidden, :engine, :group, keyword_init: true) do
      def initialize(name, type, doc, check:, default: nil, default_doc: default&.inspect, set_by: :both,
                     per_call: set_by == :call, compared: nil, **rest)
        super(name: name, type: type, doc: doc, check_name: check, default: default, default_doc: default_doc,
              set_by: set_by, per_call: per_call, compared: compared, **rest)
        freeze
        return if of_client? ? %i[never coalescing always].include?(compared) : compared.nil?

        raise ArgumentError, "#{name}: compared: is :never, :coalescing or :always for the options of a client"
      end

      # @return [Boolean] whether a client has the option
      def of_client? = %i[both client].include?(set_by)

      # @return [Array<Array>] for each value that is passed to the engine: the instance variable of Options, the
      #   engine's key, and a Proc that converts the value, or nil
      def engine_entries
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

        Loading.preload_for_fibers
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

      # A regular expression cannot match UTF-16, or text that is invalid in its encoding. Such text is checked as
      # bytes.
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
