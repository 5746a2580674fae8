# frozen_string_literal: true

module Trunkline
  # For objects that may hold credentials: inspect, pp and to_s show only their class, and Marshal refuses them, unless
  # they override these.
  #
  # @api private
  module Redacted
    HIDDEN = "[hidden]"

    # @return [String]
    def inspect
      "#<#{self.class}>"
    end

    # @return [String]
    def to_s = inspect

    # For pp and irb, which would show the members of a Struct.
    def pretty_print(printer)
      printer.text(inspect)
    end
    alias pretty_print_cycle pretty_print

    # @raise [TypeError]
    def marshal_dump
      raise TypeError, "#{self.class} may hold a credential: Marshal does not write it"
    end
  end
end
