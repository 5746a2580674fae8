# frozen_string_literal: true

module Trunkline
  # Hides the credentials that an object may hold: inspect, pp, to_s and JSON show only the class, and Marshal and YAML
  # raise TypeError, unless the class overrides inspect or marshal_dump.
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

    # Called by pp and irb, which would otherwise show the members of a Struct.
    def pretty_print(printer)
      printer.text(inspect)
    end
    alias pretty_print_cycle pretty_print

    # Called by ActiveSupport, which would otherwise show the instance variables. The json gem calls to_s.
    # @return [String]
    def as_json(*) = inspect

    # @raise [TypeError]
    def marshal_dump
      raise TypeError, "#{self.class} may hold a credential: neither Marshal nor YAML writes it"
    end

    # Called by YAML, which would otherwise write the instance variables.
    # @raise [TypeError]
    def encode_with(coder)
      coder["values"] = marshal_dump
    end

    def init_with(coder)
      marshal_load(coder["values"])
    end
  end
end
