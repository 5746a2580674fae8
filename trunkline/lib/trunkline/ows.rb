# frozen_string_literal: true

module Trunkline
  # Optional white space: spaces and tabs (RFC 9110 5.6.3). Takes linear time: a pattern such as /[ \t]+\z/ takes
  # quadratic time for many spaces within a text, and a server may send 64 KB of them.
  #
  # @api private
  module OWS
    STRIPPED = /[^ \t](?:.*[^ \t])?/m
    WITHOUT_TRAILING = /\A.*[^ \t]/m
    private_constant :STRIPPED, :WITHOUT_TRAILING

    module_function

    # @return [String] the text without white space around it
    def strip(text) = text[STRIPPED] || text[0, 0]

    # @return [String] the text without white space at its end
    def rstrip(text) = text[WITHOUT_TRAILING] || text[0, 0]
  end
end
