# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Tells a caller what a method takes, where Ruby would tell how many arguments there were, or which keyword is none.
  #
  # @api private
  module Arguments
    PLACES = "what is sent goes into json:, form:, body: or params:, and fields into headers:"

    module_function

    # @raise [InvalidRequest] always: other clients take a body, then fields
    def refuse_third(more)
      raise InvalidRequest, "a call takes a URL and options, got #{more.class} behind them; #{PLACES}"
    end

    # @param given [Hash] keywords that the method does not have
    # @param method [String]
    # @param takes [String] what it takes
    # @raise [InvalidRequest]
    def refuse_keywords(given, method, takes)
      return if given.empty?

      raise InvalidRequest, "#{method}: has no option #{given.first[0].inspect}; it takes #{takes}"
    end

    # @param more [Array] arguments behind those that the method has
    # @raise [InvalidRequest]
    def refuse_more(more, method, takes)
      raise InvalidRequest, "#{method}: takes #{takes}, and nothing else" unless more.empty?
    end

    # @param given [Object] options as a caller gave them
    # @param hint [String, nil]
    # @return [Hash]
    # @raise [InvalidRequest]
    def options(given, hint = nil)
      return given if given.is_a?(Hash)

      error = InvalidRequest.of("options", given, "keywords, such as timeout: 2")
      raise hint ? InvalidRequest.new("#{error.message}; #{hint}") : error
    end
  end
end
