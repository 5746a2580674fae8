# frozen_string_literal: true

module Trunkline
  # Comma-separated lists of words (RFC 9110 5.6.1), such as no_proxy and qop. White space separates words, too.
  #
  # @api private
  module CommaList
    module_function

    # @param text [String]
    # @return [Array<String>] the words that are not empty
    def parse(text)
      text.split(/[\s,]+/).reject(&:empty?)
    end
  end
end
