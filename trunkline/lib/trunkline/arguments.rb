# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Raises InvalidRequest with the expected arguments, in place of Ruby's error about the number of arguments or an
  # unknown keyword.
  #
  # @api private
  module Arguments
    BODY_HINT = "what is sent goes into json:, form:, body: or params:, and fields into headers:"

    module_function

    # @raise [InvalidRequest] always. Other HTTP clients take a body as second and header fields as third argument
    def refuse_third_argument(more)
      raise InvalidRequest, "a call takes a URL and options, got #{more.class} behind them; #{BODY_HINT}"
    end

    # @param unknown [Hash] keywords that the method does not have; an empty Hash raises nothing
    # @param method [String] name of the method, for the message
    # @param takes [String] the arguments that the method takes, for the message
    # @raise [InvalidRequest]
    def refuse_keywords(unknown, method, takes)
      return if unknown.empty?

      raise InvalidRequest, "#{method}: has no option #{unknown.first[0].inspect}; it takes #{takes}"
    end

    # @param more [Array] positional arguments beyond those of the method
    # @raise [InvalidRequest]
    def refuse_more(more, method, takes)
      raise InvalidRequest, "#{method}: takes #{takes}, and nothing else" unless more.empty?
    end

    # @param value [Object] options of a caller
    # @param hint [String, nil] appended to the message
    # @return [Hash]
    # @raise [InvalidRequest] when value is not a Hash
    def options(value, hint = nil)
      return value if value.is_a?(Hash)

      error = InvalidRequest.of("options", value, "keywords, such as timeout: 2")
      raise hint ? InvalidRequest.new("#{error.message}; #{hint}") : error
    end
  end
end
