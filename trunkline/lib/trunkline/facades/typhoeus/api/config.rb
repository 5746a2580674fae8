# frozen_string_literal: true

module Typhoeus
  # Defaults of all requests.
  module Config
    extend self # rubocop:disable Style/ModuleFunction -- it has state

    # @return [Boolean, nil] whether requests without a stub raise Errors::NoStub
    attr_accessor :block_connection
    # @return [Boolean, nil] whether a run of a hydra sends equal GET requests once
    attr_accessor :memoize
    # @return [Boolean, nil] whether header sections are written to standard error
    attr_accessor :verbose
    # @return [Numeric, nil] seconds for a whole request
    attr_accessor :timeout
    # @return [Numeric, nil] seconds to connect
    attr_accessor :connecttimeout
    # @return [#get, #set, nil]
    attr_accessor :cache
    # @return [String, nil]
    attr_accessor :user_agent
    # @return [String, nil] URL of a proxy for every request
    attr_accessor :proxy
    # @return [Array<Symbol>, nil] :before disables the before callbacks
    attr_accessor :exclude_features
    # @return [Integer, nil] without effect: there are no handles
    attr_reader :max_idle_easies

    # @raise [ArgumentError]
    def max_idle_easies=(value)
      unless value.nil? || (value.is_a?(Integer) && !value.negative?)
        raise ArgumentError, "max_idle_easies must be nil or a non-negative Integer"
      end

      @max_idle_easies = value
    end

    # @return [Hash, nil] policies of every request, which Typhoeus itself does not have: retry:, breaker:, rate:,
    #   hedge:, coalesce:, cache: and the others of docs/policies.md; logger:, log:, curl: and redact: of
    #   docs/logging.md; and egress: of docs/egress.md
    attr_reader :policies

    # @raise [Trunkline::InvalidRequest]
    def policies=(options)
      checked = ::Trunkline::Facades::Policies.check(options || {}, "Typhoeus")
      ::Trunkline::Facades::Typhoeus::RequestConfig.policies = checked
      @policies = options
    end

    # @api private
    def feature_enabled?(feature)
      exclude_features.nil? || !exclude_features.include?(feature)
    end

    @max_idle_easies = 20
  end
end
