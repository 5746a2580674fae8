# frozen_string_literal: true

require_relative "options"
require_relative "redacted"

module Trunkline
  # What Trunkline.configure yields: one writer for each option of Trunkline.new.
  #
  #   Trunkline.configure do |defaults|
  #     defaults.timeout = 5
  #     defaults.headers = { "User-Agent" => "shop/1.0" }
  #   end
  class Defaults
    include Redacted

    attr_writer(*Options::NAMES)

    # @return [Hash{Symbol => Object}] what was set
    def to_h
      instance_variables.to_h { |name| [name[1..].to_sym, instance_variable_get(name)] }
    end
  end
end
