# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Converts the values that callers give as params:, form:, multipart: and json: before they are encoded.
  #
  # @api private
  module Params
    class << self
      # Converts permitted ActionController::Parameters of Rails, which are not a Hash, to a Hash.
      #
      # @param argument [String, Symbol] the name of the option, for the error message
      # @param value [Object]
      # @return [Object] a Hash for Parameters; any other value unchanged
      # @raise [InvalidRequest] for Parameters that are not permitted
      def plain(argument, value)
        return value unless parameters?(value)
        return value.to_h if value.permitted?

        raise InvalidRequest, "#{argument}: must be permitted parameters: params.permit(:name, ...), or " \
                              "params.to_unsafe_h for all of them"
      end

      # @return [Boolean]
      def parameters?(value)
        defined?(::ActionController::Parameters) ? value.is_a?(::ActionController::Parameters) : false
      end

      # @param hash [Hash]
      # @return [Hash] the same values, with :a and "a" as one name; the later value replaces the earlier one
      def distinct(hash)
        return hash if hash.each_key.all?(Symbol) || hash.each_key.all?(String)

        hash.each_with_object({}) { |(name, value), all| all[name.to_s] = value }
      end
    end
  end
end
