# frozen_string_literal: true

require "digest"
require_relative "call_log"
require_relative "deprecations"
require_relative "options/table"
require_relative "options/unknown"
require_relative "params"
require_relative "policy"
require_relative "redacted"

module Trunkline
  # The options of a client: checked when they are set, frozen. #merge returns a changed copy; TABLE describes each
  # option.
  class Options
    include Redacted

    client = TABLE.each_value.select(&:of_client?)
    # The values of options that a client does not set.
    DEFAULTS = client.to_h { |option| [option.name, option.default] }.freeze
    # Options of a client. All except max_idle: can also be set for a call.
    NAMES = DEFAULTS.keys.freeze
    # Options that can only be set for a call.
    CALL_ONLY = TABLE.each_value.select { |option| option.set_by == :call }.map(&:name).freeze
    # Options that can only be set for a request among many (see Scheduler::StreamBlocks).
    BATCH_ONLY = TABLE.each_value.select { |option| option.set_by == :many }.map(&:name).freeze
    # Limits of the process, for all clients together. They take effect at once, also for existing clients; nil restores
    # the default.
    PROCESS_LIMITS = TABLE.each_value.select { |option| option.set_by == :process }.map(&:name).freeze
    # Options of a client that are limits (see Stats#bounds).
    LIMITS = client.select(&:limit).map(&:name).freeze
    # Options of a call that need no other Options object: the call's value is used instead of the client's.
    PER_CALL = TABLE.each_value.select(&:per_call).map(&:name).freeze

    # The options that are passed to the engine, by group. For each: its instance variable, the engine's key, and a Proc
    # that converts the value, or nil.
    ENGINE_OPTIONS = client.group_by(&:group).transform_values { |options| options.flat_map(&:engine_entries) }.freeze
    # Options that do not affect the response to a request.
    RESPONSE_NEUTRAL = client.select { |option| option.compared == :never }.map(&:name).freeze
    # Options that determine which server responds, whether it is trusted, and how its response is decoded.
    IDENTITY = client.select { |option| option.compared == :always }.map(&:name).freeze
    # Options for authentication, which exclude each other.
    AUTHENTICATION = %i[bearer basic digest auth].freeze
    CLIENT_CERTIFICATE = %i[client_cert client_key client_key_password].freeze
    LOG_DEPRECATIONS = Deprecations.of(true)
    private_constant :ENGINE_OPTIONS, :RESPONSE_NEUTRAL, :IDENTITY, :AUTHENTICATION, :CLIENT_CERTIFICATE,
                     :LOG_DEPRECATIONS

    attr_reader(*NAMES - [:raise])

    # @return [Boolean] the option raise:; a reader of that name would hide Kernel#raise
    def raises? = @raise

    # @return [Deprecations, nil] the handler of deprecations; by default the logger if app_name: is set, else nil
    def deprecation_handler
      @deprecations.nil? && @app_name ? LOG_DEPRECATIONS : @deprecations || nil
    end

    # @return [Options] the defaults, without a timeout; keylog: is the path in the environment variable SSLKEYLOGFILE
    def self.defaults
      @defaults ||= new(DEFAULTS.merge(keylog: ENV.fetch("SSLKEYLOGFILE", nil)))
    end

    # @param name [Symbol] an option of TABLE
    # @param value [Object] as given by a caller
    # @return [Object] as the library uses it
    # @raise [InvalidRequest]
    def self.check(name, value)
      TABLE.fetch(name).check(value)
    end

    # @param options [Hash{Symbol => Object}] per-call options
    # @return [Hash{Symbol => Object}] the same options, with checked values
    # @raise [InvalidRequest]
    def self.check_call(options)
      options.to_h { |name, value| [name, check(name, value)] }
    end

    # Called for unknown options of clients and of calls alike, because a call with options outside PER_CALL makes
    # another client.
    # @return [InvalidRequest] for a name that is no option of a client
    def self.unknown(name, known = NAMES + CALL_ONLY)
      if CALL_ONLY.include?(name)
        return InvalidRequest.new("#{name}: is an option of a call, not of a client: client.post(url, #{name}: ...)")
      end

      if BATCH_ONLY.include?(name)
        return InvalidRequest.new("#{name}: is for a request among many (batch, each, map, async); a single call has " \
                                  "a block")
      end

      if PROCESS_LIMITS.include?(name)
        return InvalidRequest.new("#{name}: is a limit of the process: Trunkline.configure { |c| c.#{name} = ... }")
      end

      Unknown.error(name, known)
    end

    # @param base [Hash, Array, nil] params set before
    # @param more [Hash, Array, nil] params set now
    # @return [Hash, Array, nil] both together; if both are Hashes, values of more replace those of base
    def self.join(base, more)
      return more || base if base.nil? || more.nil?

      base.is_a?(Hash) && more.is_a?(Hash) ? base.merge(more) : base.to_a + more.to_a
    end

    # @param values [Hash{Symbol => Object}] a checked value for each option
    def initialize(values)
      change(values)
    end

    # @param changes [Hash{Symbol => Object}] as given by a caller. headers:, params: and a Hash as timeout: are merged
    #   with the current values, use: and redact: are added to them; the other options replace them
    # @return [Options]
    # @raise [InvalidRequest] for an unknown option or an invalid value
    def merge(changes)
      return self if changes.empty?

      unknown = changes.keys - NAMES
      raise Options.unknown(unknown.first) unless unknown.empty?

      dup.change(combine(Options.check_call(changes)))
    end

    # @return [Hash{Symbol => Object}]
    def to_h
      NAMES.to_h { |name| [name, instance_variable_get(:"@#{name}")] }
    end

    # Returns the argument of Engine::Config.new.
    #
    # @param owner_id [Integer] the owner id of the client's PoolHandle
    # @return [Hash{Symbol => Object}]
    # @raise [MissingTimeout] when no timeout is set
    def to_engine(owner_id)
      raise MissingTimeout unless timeout

      config = { owner: owner_id, max_streamed_bytes: @max_streamed_bytes || 0, lenient: lenient?,
                 sockets: {}, tls: { common_name: lenient? } }
      ENGINE_OPTIONS.each { |group, entries| add_engine_options(group ? config[group] : config, entries) }
      config
    end

    # Whether responses and certificates are checked as leniently as by Net::HTTP. The options of the Net::HTTP facade
    # override this method.
    # @api private
    def lenient? = false

    # Hides credentials, values that may contain one, and the caller's own objects.
    def inspect
      shown = to_h.reject { |name, value| value == DEFAULTS[name] }.map do |name, value|
        value = value.to_h.compact if name == :timeout
        "#{name}: #{TABLE[name].hidden ? HIDDEN : value.inspect}"
      end
      "#<#{self.class} #{shown.join(", ")}>"
    end

    # @return [Array<Object>] the probes for the client's calls (see Instrument)
    # @api private
    def probes
      return NO_PROBES if @log == false || !(@log || @logger || @curl)

      [CallLog.new(@logger, @log || :line, @curl)].freeze
    end
    NO_PROBES = [].freeze
    private_constant :NO_PROBES

    # @return [Hash] equal for Options with which the same request gets the same response (see Policy::Coalesce)
    # @api private
    def sharing = to_h.except(*RESPONSE_NEUTRAL)

    # @return [String] a digest of the options in IDENTITY that differ from their defaults; "" when none does
    # @api private
    def identity
      changed = IDENTITY.to_h { |name| [name, public_send(name)] }.reject { |name, value| value == DEFAULTS[name] }
      changed.empty? ? "" : Digest::SHA256.hexdigest(changed.inspect)
    end

    protected

    def change(values)
      values.each { |name, value| instance_variable_set(:"@#{name}", value) }
      freeze
    end

    private

    def add_engine_options(config, entries)
      entries.each do |variable, key, convert|
        value = instance_variable_get(variable)
        config[key] = convert ? convert.call(value) : value
      end
    end

    # Completes values that depend on the options set before, or on one another.
    def combine(values)
      values[:timeout] = Timeouts.of(values[:timeout], timeout) if values[:timeout]
      # The default of max_body_bytes: is for bodies that are read whole; a limit that is set applies to streamed bodies
      # too.
      values[:max_streamed_bytes] = values[:max_body_bytes] if values.key?(:max_body_bytes)
      values[:headers] = Headers.overlay(headers, values[:headers]).freeze if values.key?(:headers)
      values[:params] = Options.join(params, values[:params]) if values.key?(:params)
      values[:redact] = (redact | values[:redact]).freeze if values[:redact]
      combine_policies(values)
      choose_authentication(values)
      complete_client_certificate(values)
      check_tls_versions(values)
      values
    end

    # Middleware is added to the middleware set before; use: false removes all of it. Options given beside policies:
    # :standard take precedence over those that it sets.
    def combine_policies(values)
      values[:use] = (use + values[:use]).freeze if values[:use]&.any?
      add_standard(values) if values[:policies]
    end

    def add_standard(values)
      %i[retry breaker].each { |name| values[name] = Options.check(name, true) unless values.key?(name) }
      limit = values[:timeout] || timeout
      values[:timeout] = Timeouts.of({ total: Timeouts::DEFAULT }, limit) if limit && limit.total.nil?
    end

    # Each of these options replaces the authentication set before.
    def choose_authentication(values)
      chosen = AUTHENTICATION.select { |name| values[name] }
      raise InvalidRequest, "#{chosen.join(": and ")}: exclude each other; give one" if chosen.size > 1

      (AUTHENTICATION - chosen).each { |name| values[name] = nil } unless chosen.empty?
    end

    # A new client_cert: contains its key or is given with client_key:; the key set before is not kept.
    def complete_client_certificate(values)
      return unless CLIENT_CERTIFICATE.any? { |name| values.key?(name) }

      before = values.key?(:client_cert) ? {} : CLIENT_CERTIFICATE.to_h { |name| [name, public_send(name)] }
      combined = before.merge(values.slice(*CLIENT_CERTIFICATE))
      if combined[:client_cert].nil? && (lone = combined.compact.keys.first)
        raise InvalidRequest, "#{lone}: needs client_cert: beside it"
      end

      values.merge!(ClientCertificate.complete(combined))
    end

    def check_tls_versions(values)
      lowest = values.fetch(:min_tls) { min_tls }
      highest = values.fetch(:max_tls) { max_tls }
      return if highest.nil? || highest >= lowest

      raise InvalidRequest, "max_tls: #{Checks::TLS_VERSIONS.key(highest)} is below min_tls: " \
                            "#{Checks::TLS_VERSIONS.key(lowest)}"
    end
  end
end
