# frozen_string_literal: true

module Trunkline
  # For objects that may hold credentials: inspect, pp, to_s and JSON show only their class, and Marshal and YAML refuse
  # them, unless they override inspect or marshal_dump.
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

    # For ActiveSupport, which would show the instance variables. The json gem asks for to_s.
    # @return [String]
    def as_json(*) = inspect

    # @raise [TypeError]
    def marshal_dump
      raise TypeError, "#{self.class} may hold a credential: neither Marshal nor YAML writes it"
    end

    # For YAML, which would write the instance variables.
    # @raise [TypeError]
    def encode_with(coder)
      coder["values"] = marshal_dump
    end

    def init_with(coder)
      marshal_load(coder["values"])
    end
  end
end
