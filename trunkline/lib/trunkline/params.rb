# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # What callers give as params: and form:, on its way to Query.
  #
  # @api private
  module Params
    class << self
      # Rails' ActionController::Parameters are no Hash, and become one when they are permitted.
      #
      # @param argument [String, Symbol] what the value was given for
      # @param value [Object]
      # @return [Object] of Parameters a Hash; all else as it is
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
      # @return [Hash] in which :a and "a" are one name, whose later value counts
      def distinct(hash)
        return hash if hash.each_key.all?(Symbol) || hash.each_key.all?(String)

        hash.each_with_object({}) { |(name, value), all| all[name.to_s] = value }
      end
    end
  end
end
