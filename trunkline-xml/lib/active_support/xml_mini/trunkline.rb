# frozen_string_literal: true

require "trunkline/xml"
require "trunkline/xml/parser"

module ActiveSupport
  # `ActiveSupport::XmlMini.backend = "Trunkline"`: returns the same as the REXML backend, but faster, and with limits.
  module XmlMini_Trunkline # rubocop:disable Naming/ClassAndModuleCamelCase -- XmlMini makes it of the backend's name
    module_function

    # @param data [String, #read, nil]
    # @return [Hash]
    # @raise [Trunkline::XML::ParseError] for XML that is not well-formed, deeper than XmlMini.depth, or too large
    def parse(data)
      ::Trunkline::XML::Parser.parse(data, max_depth: XmlMini.depth)
    end
  end
end
