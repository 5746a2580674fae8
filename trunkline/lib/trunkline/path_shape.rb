# frozen_string_literal: true

module Trunkline
  # Replaces the segments of a path that identify one resource with ":id", so that calls to the same endpoint can be
  # grouped.
  #
  # @api private
  module PathShape
    # A segment that identifies one resource: a number, a UUID, 7 or more hexadecimal digits (16 or more if all are
    # letters), 16 or more characters with a digit among them, or a text with 4 digits in a row. A format may follow it
    # ("12.json").
    IDENTIFIER = /\A(?:\d+|\h{8}(?:-\h{4}){3}-\h{12}|(?=\h*\d)\h{7,}|\h{16,}|(?=.*\d)(?:[^.]{16,}|.*\d{4}.*))
                    (?<format>\.[a-z]{2,5})?\z/x
    private_constant :IDENTIFIER

    # @param path [String] "/users/12/orders/8f14e45fceea"
    # @return [String] "/users/:id/orders/:id"
    def self.of(path) = path.split("/", -1).map { |segment| segment.sub(IDENTIFIER, ":id\\k<format>") }.join("/")
  end
end
