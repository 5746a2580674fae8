# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Raises InvalidRequest with the expected arguments, in place of Ruby's error about the number of arguments or an
  # unknown keyword.
  #
  # @api private
  module Arguments
    PLACES = "what is sent goes into json:, form:, body: or params:, and fields into headers:"

    module_function

    # @raise [InvalidRequest] always. Other HTTP clients take a body as second and header fields as third argument
    def refuse_third(more)
      raise InvalidRequest, "a call takes a URL and options, got #{more.class} behind them; #{PLACES}"
    end

    # @param given [Hash] keywords that the method does not have; an empty Hash raises nothing
    # @param method [String] name of the method, for the message
    # @param takes [String] the arguments that the method takes, for the message
    # @raise [InvalidRequest]
    def refuse_keywords(given, method, takes)
      return if given.empty?

      raise InvalidRequest, "#{method}: has no option #{given.first[0].inspect}; it takes #{takes}"
    end

    # @param more [Array] positional arguments beyond those of the method
    # @raise [InvalidRequest]
    def refuse_more(more, method, takes)
      raise InvalidRequest, "#{method}: takes #{takes}, and nothing else" unless more.empty?
    end

    # @param given [Object] options of a caller
    # @param hint [String, nil] appended to the message
    # @return [Hash]
    # @raise [InvalidRequest] when given is not a Hash
    def options(given, hint = nil)
      return given if given.is_a?(Hash)

      error = InvalidRequest.of("options", given, "keywords, such as timeout: 2")
      raise hint ? InvalidRequest.new("#{error.message}; #{hint}") : error
    end
  end
end
