# frozen_string_literal: true

module Trunkline
  # The path of a URL without what names one resource, so that calls to the same endpoint are told together.
  #
  # @api private
  module PathShape
    # A segment that names one resource: a number, a UUID, hexadecimal digits (16 or more when they are all letters), or
    # a longer text with a number in it. A format may follow it ("12.json").
    IDENTIFIER = /\A(?:\d+|\h{8}(?:-\h{4}){3}-\h{12}|(?=\h*\d)\h{7,}|\h{16,}|(?=.*\d)(?:[^.]{16,}|.*\d{4}.*))
                    (?<format>\.[a-z]{2,5})?\z/x
    private_constant :IDENTIFIER

    # @param path [String] "/users/12/orders/8f14e45fceea"
    # @return [String] "/users/:id/orders/:id"
    def self.of(path) = path.split("/", -1).map { |segment| segment.sub(IDENTIFIER, ":id\\k<format>") }.join("/")
  end
end
