# frozen_string_literal: true

require_relative "ows"

module Trunkline
  # Comma-separated lists (RFC 9110 5.6.1).
  #
  # @api private
  module CommaList
    module_function

    # Splits at commas alone, as the strict parsers of responses do.
    #
    # @param text [String] the value of a header field
    # @return [Array<String>] the elements in BINARY, without spaces and tabs around them; some may be empty
    def elements(text)
      text.b.split(",", -1).map { |one| OWS.strip(one) }
    end

    # @param text [String] the value of a header field
    # @return [Boolean] whether one of its elements is this word, in upper or lower case
    def include?(text, word)
      elements(text).any? { |one| one.casecmp?(word) }
    end

    # Splits lists of words, such as no_proxy and qop, in which white space separates words, too.
    #
    # @param text [String]
    # @return [Array<String>] the words that are not empty
    def parse(text)
      text.split(/[\s,]+/).reject(&:empty?)
    end
  end
end
