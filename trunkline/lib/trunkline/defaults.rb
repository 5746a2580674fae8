# frozen_string_literal: true

require_relative "options"
require_relative "redacted"

module Trunkline
  # What Trunkline.configure yields: one writer for each option of Trunkline.new, and for each limit of the process.
  #
  #   Trunkline.configure do |defaults|
  #     defaults.timeout = 5
  #     defaults.headers = { "User-Agent" => "shop/1.0" }
  #     defaults.max_connections = 512
  #   end
  class Defaults
    include Redacted

    attr_writer(*Options::NAMES, *Options::OF_PROCESS)

    # @return [Hash{Symbol => Object}] the options that were set
    def to_h = given.except(*Options::OF_PROCESS)

    # @api private
    # @return [Hash{Symbol => Integer, nil}] the limits of the process that were set, checked
    # @raise [InvalidRequest]
    def process
      given.slice(*Options::OF_PROCESS).to_h { |name, value| [name, Options.check(name, value)] }
    end

    private

    def given
      instance_variables.to_h { |name| [name[1..].to_sym, instance_variable_get(name)] }
    end
  end
end
