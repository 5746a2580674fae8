# frozen_string_literal: true

require_relative "options"
require_relative "redacted"
require_relative "warns"

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

    # Of the process, beside its limits.
    SETTINGS = %i[logger require_timeouts].freeze
    private_constant :SETTINGS

    attr_writer(*Options::NAMES - SETTINGS, *Options::OF_PROCESS)
    # @param value [#warn, nil] a Logger or its like; nil: Kernel.warn
    attr_writer :logger
    # @param value [Boolean] whether each client, or each call of a client without one, must be given a timeout: then
    #   the process's own does not count
    attr_writer :require_timeouts

    # As require_timeouts = true.
    # @return [void]
    def require_timeouts
      @require_timeouts = true
    end

    # @raise [InvalidRequest] for the writer of what is no option
    def method_missing(name, *given)
      return super unless name.end_with?("=")

      raise Options.unknown(name.name.delete_suffix("=").to_sym, Options::NAMES + Options::OF_PROCESS)
    end

    def respond_to_missing?(*) = false

    # As deprecations = block.
    # @yieldparam deprecation [Deprecation]
    # @return [void]
    def deprecations(&block)
      raise InvalidRequest, "deprecations: needs a block, which is called with each Deprecation" unless block

      @deprecations = block
    end

    # @return [Hash{Symbol => Object}] the options that were set
    def to_h = given.except(*Options::OF_PROCESS, *SETTINGS)

    # @api private
    # @return [Hash{Symbol => Integer, nil}] the limits of the process that were set, checked
    # @raise [InvalidRequest]
    def process
      given.slice(*Options::OF_PROCESS).to_h { |name, value| [name, Options.check(name, value)] }
    end

    # @api private
    # @return [Hash{Symbol => Object}] what else of the process was set, checked
    # @raise [InvalidRequest]
    def settings
      set = given.slice(*SETTINGS)
      logger, required = set.values_at(:logger, :require_timeouts)
      raise InvalidRequest.of("logger", logger, "an object with #warn, or nil") unless logger.nil? || Warns.by?(logger)
      return set if [nil, true, false].include?(required)

      raise InvalidRequest.of("require_timeouts", required, "true or false")
    end

    private

    def given
      instance_variables.to_h { |name| [name[1..].to_sym, instance_variable_get(name)] }
    end
  end
end
