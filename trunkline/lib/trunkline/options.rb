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
  # The options of a client: checked when they are set, frozen. #merge makes others; TABLE describes each option.
  class Options
    include Redacted

    client = TABLE.each_value.select { |option| %i[both client].include?(option.set_by) }
    # Values of a client that sets none.
    DEFAULTS = client.to_h { |option| [option.name, option.default] }.freeze
    # What a client sets, and a call too (max_idle: excepted).
    NAMES = DEFAULTS.keys.freeze
    # What a call alone sets.
    CALL_ONLY = TABLE.each_value.select { |option| option.set_by == :call }.map(&:name).freeze
    # What a request among many sets alone (Scheduler::StreamBlocks).
    OF_MANY = TABLE.each_value.select { |option| option.set_by == :many }.map(&:name).freeze
    # Limits that hold for all clients together, at once, also for those that are there already; nil for the usual one.
    OF_PROCESS = TABLE.each_value.select { |option| option.set_by == :process }.map(&:name).freeze
    # Those of a client that are limits (see Stats#bounds).
    LIMITS = client.select(&:limit).map(&:name).freeze
    # What a call may change without another set of options: they are laid over the client's as they are.
    PER_CALL = TABLE.each_value.select(&:per_call).map(&:name).freeze

    # What the engine is told, by group: of each option the variable, the key, and what makes the value, or nil.
    TOLD = client.group_by(&:group).transform_values { |options| options.flat_map(&:told) }.freeze
    # Ways to authenticate: one at a time.
    AUTHENTICATION = %i[bearer basic digest auth].freeze
    CLIENT_CERTIFICATE = %i[client_cert client_key client_key_password].freeze
    LOGGED = Deprecations.of(true)
    private_constant :TOLD, :AUTHENTICATION, :CLIENT_CERTIFICATE, :LOGGED

    attr_reader(*NAMES - [:raise])

    # @return [Boolean] the option raise:, whose reader would stand in the way of Kernel#raise
    def raises? = @raise

    # @return [Deprecations, nil] who is told of deprecations; unless deprecations: says otherwise, the logger is when
    #   the application has a name
    def deprecation_handler
      @deprecations.nil? && @app_name ? LOGGED : @deprecations || nil
    end

    # @return [Options] with every default, and no timeout
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

    # @param given [Hash{Symbol => Object}] per-call options
    # @return [Hash{Symbol => Object}] the same, checked
    # @raise [InvalidRequest]
    def self.check_call(given)
      given.to_h { |name, value| [name, check(name, value)] }
    end

    # Options of a call and of a client come here alike: a call with options that last makes another client.
    # @return [InvalidRequest] for a name that is no option of a client
    def self.unknown(name, known = NAMES + CALL_ONLY)
      if CALL_ONLY.include?(name)
        return InvalidRequest.new("#{name}: is an option of a call, not of a client: client.post(url, #{name}: ...)")
      end

      if OF_MANY.include?(name)
        return InvalidRequest.new("#{name}: is for a request among many (batch, each, map, async); a single call has " \
                                  "a block")
      end

      if OF_PROCESS.include?(name)
        return InvalidRequest.new("#{name}: is a limit of the process: Trunkline.configure { |c| c.#{name} = ... }")
      end

      Unknown.error(name, known)
    end

    # @param base [Hash, Array, nil] params set before
    # @param more [Hash, Array, nil] params set now
    # @return [Hash, Array, nil] both; of two Hashes the later one's values count
    def self.join(base, more)
      return more || base if base.nil? || more.nil?

      base.is_a?(Hash) && more.is_a?(Hash) ? base.merge(more) : base.to_a + more.to_a
    end

    # @param values [Hash{Symbol => Object}] a value for each name, checked already
    def initialize(values)
      change(values)
    end

    # @param changes [Hash{Symbol => Object}] as given by a caller. headers: are laid over those there are, params:
    #   and a Hash of timeout: added to them; everything else replaces
    # @return [Options]
    # @raise [InvalidRequest]
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

    # What Engine::Config is made of.
    #
    # @param owner [Integer] number of the client's family
    # @return [Hash{Symbol => Object}]
    # @raise [MissingTimeout]
    def to_engine(owner)
      raise MissingTimeout unless timeout

      settings = { owner: owner, max_streamed_bytes: @max_streamed_bytes || 0, lenient: lenient?,
                   sockets: {}, tls: { common_name: lenient? } }
      TOLD.each { |group, told| tell(group ? settings[group] : settings, told) }
      settings
    end

    # Whether answers and certificates are taken as Net::HTTP takes them. The facade's options override it.
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

    # @return [Array<Object>] that watch the client's calls (see Instrument)
    # @api private
    def probes
      return NO_PROBES if @log == false || !(@log || @logger || @curl)

      [CallLog.new(@logger, @log || :line, @curl)].freeze
    end
    NO_PROBES = [].freeze
    private_constant :NO_PROBES

    # Options that an answer does not depend on.
    OWN = %i[timeout use raise retry breaker rate hedge logger log curl redact].freeze
    private_constant :OWN

    # @return [Hash] equal for all options that have the same answers to the same requests (see Policy::Coalesce)
    # @api private
    def sharing = to_h.except(*OWN)

    # Options that say which server an answer comes from, how far it is believed, and what of it is kept.
    IDENTITY = %i[connect_to unix egress tls_name verify verify_hostname ca_file ca_path client_cert decode].freeze
    private_constant :IDENTITY

    # @return [String] a digest of those that are not the default; empty for none
    # @api private
    def identity
      own = IDENTITY.to_h { |name| [name, public_send(name)] }.reject { |name, value| value == DEFAULTS[name] }
      own.empty? ? "" : Digest::SHA256.hexdigest(own.inspect)
    end

    protected

    def change(values)
      values.each { |name, value| instance_variable_set(:"@#{name}", value) }
      freeze
    end

    private

    def tell(settings, told)
      told.each do |variable, key, convert|
        value = instance_variable_get(variable)
        settings[key] = convert ? convert.call(value) : value
      end
    end

    # Completes values that depend on the options set before, or on one another.
    def combine(values)
      values[:timeout] = Timeouts.of(values[:timeout], timeout) if values[:timeout]
      # The default is for bodies that are kept whole; a limit that was asked for holds for all.
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

    # Middleware is added to that there is; none takes it away. What was given beside policies: :standard stands.
    def combine_policies(values)
      values[:use] = (use + values[:use]).freeze if values[:use]&.any?
      add_standard(values) if values[:policies]
    end

    def add_standard(values)
      %i[retry breaker].each { |name| values[name] = Options.check(name, true) unless values.key?(name) }
      limit = values[:timeout] || timeout
      values[:timeout] = Timeouts.of({ total: Timeouts::DEFAULT }, limit) if limit && limit.total.nil?
    end

    # A way to authenticate replaces the one that was set before.
    def choose_authentication(values)
      given = AUTHENTICATION.select { |name| values[name] }
      raise InvalidRequest, "#{given.join(": and ")}: exclude each other; give one" if given.size > 1

      (AUTHENTICATION - given).each { |name| values[name] = nil } unless given.empty?
    end

    # A certificate that is given brings its key, or has it given beside it.
    def complete_client_certificate(values)
      return unless CLIENT_CERTIFICATE.any? { |name| values.key?(name) }

      before = values.key?(:client_cert) ? {} : CLIENT_CERTIFICATE.to_h { |name| [name, public_send(name)] }
      given = before.merge(values.slice(*CLIENT_CERTIFICATE))
      if given[:client_cert].nil? && (lone = given.compact.keys.first)
        raise InvalidRequest, "#{lone}: needs client_cert: beside it"
      end

      values.merge!(ClientCertificate.complete(given))
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
