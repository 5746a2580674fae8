# frozen_string_literal: true

require_relative "options"
require_relative "redacted"
require_relative "warns"

module Trunkline
  # Yielded by Trunkline.configure. Has one writer for each option of Trunkline.new and for each limit of the process.
  #
  #   Trunkline.configure do |defaults|
  #     defaults.timeout = 5
  #     defaults.headers = { "User-Agent" => "shop/1.0" }
  #     defaults.max_connections = 512
  #   end
  class Defaults
    include Redacted

    # Options of the process that are not limits.
    PROCESS_OPTIONS = %i[logger require_timeouts].freeze
    private_constant :PROCESS_OPTIONS

    attr_writer(*Options::NAMES - PROCESS_OPTIONS, *Options::PROCESS_LIMITS)
    # @param value [#warn, nil] a Logger or a similar object; nil: Kernel.warn
    attr_writer :logger
    # @param value [Boolean] whether each client, and each call by Trunkline's own verbs, must be given a timeout. The
    #   default timeout of the process is ignored then
    attr_writer :require_timeouts

    # Same as require_timeouts = true.
    # @return [void]
    def require_timeouts
      @require_timeouts = true
    end

    # @raise [InvalidRequest] for a writer whose name is not an option
    def method_missing(name, *arguments)
      return super unless name.end_with?("=")

      raise Options.unknown(name.name.delete_suffix("=").to_sym, Options::NAMES + Options::PROCESS_LIMITS)
    end

    def respond_to_missing?(*) = false

    # Same as deprecations = block.
    # @yieldparam deprecation [Deprecation]
    # @return [void]
    # @raise [InvalidRequest] without a block
    def deprecations(&block)
      raise InvalidRequest, "deprecations: needs a block, which is called with each Deprecation" unless block

      @deprecations = block
    end

    # @return [Hash{Symbol => Object}] the options that were set
    def to_h = assigned.except(*Options::PROCESS_LIMITS, *PROCESS_OPTIONS)

    # @api private
    # @return [Hash{Symbol => Integer, nil}] the limits of the process that were set, checked
    # @raise [InvalidRequest]
    def process
      assigned.slice(*Options::PROCESS_LIMITS).to_h { |name, value| [name, Options.check(name, value)] }
    end

    # @api private
    # @return [Hash{Symbol => Object}] the other options of the process that were set, checked
    # @raise [InvalidRequest]
    def process_options
      set = assigned.slice(*PROCESS_OPTIONS)
      logger, required = set.values_at(:logger, :require_timeouts)
      raise InvalidRequest.of("logger", logger, "an object with #warn, or nil") unless logger.nil? || Warns.by?(logger)
      return set if [nil, true, false].include?(required)

      raise InvalidRequest.of("require_timeouts", required, "true or false")
    end

    private

    def assigned
      instance_variables.to_h { |name| [name[1..].to_sym, instance_variable_get(name)] }
    end
  end
end
