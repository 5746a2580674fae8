# frozen_string_literal: true

module Trunkline
  # Lists of words with commas (RFC 9110 5.6.1), such as those of no_proxy and of qop. Blanks separate words too.
  #
  # @api private
  module CommaList
    module_function

    # @param text [String]
    # @return [Array<String>] without empty ones
    def parse(text)
      text.split(/[\s,]+/).reject(&:empty?)
    end
  end
end
