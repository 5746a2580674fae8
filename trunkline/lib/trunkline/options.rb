# frozen_string_literal: true

require_relative "checks"
require_relative "redacted"

module Trunkline
  # What a client does for all of its calls: checked once, frozen. A changed one is a new one.
  class Options
    include Redacted

    DEFAULTS = {
      timeout: nil, headers: [].freeze, params: nil, bearer: nil, basic: nil, digest: nil, auth: nil, netrc: nil,
      follow: false, redirect_body_to_http: false, credential_headers: [].freeze,
      replay: :never, expect: false, decode: true, early_hints: nil,
      verify: true, verify_hostname: true, ca_file: nil, ca_path: nil, ca_store: nil,
      client_cert: nil, client_key: nil, verify_depth: nil, tls_name: nil,
      http: :auto, min_tls: 0x0303, max_tls: nil, ciphers: nil, ciphersuites: nil, keylog: nil,
      connect_to: nil, unix: nil, proxy: nil, no_proxy: nil,
      bind: nil, tcp_keepalive: SocketOptions::KEEPALIVE, tcp_user_timeout: 0,
      max_connections_per_host: 64, max_idle: nil, idle_timeout: 30.0, max_age: 300.0,
      busy_poll: BusyPoll::DEFAULT,
      max_body_bytes: 256 * 1024 * 1024, max_decode_ratio: 100, max_header_bytes: 65_536, max_headers: 200
    }.freeze

    # What a client and a call may set.
    NAMES = DEFAULTS.keys.freeze
    # What a call alone may set.
    CALL_ONLY = %i[body json form multipart stream].freeze
    # What a call may change without another set of options: they are laid over the client's as they are.
    PER_CALL = (%i[headers params bearer basic follow early_hints] + CALL_ONLY).freeze

    # Limits that hold for all clients together, at once, also for those that are there already; nil for the usual one.
    #
    # max_connections::    connections that calls use at the same time, in the whole process; idle ones do not count.
    #                      Half of the descriptors that the process may open (RLIMIT_NOFILE). Further calls wait their
    #                      turn, within the timeout of their queue
    # max_buffered_bytes:: bytes of answers over HTTP/2 that servers may send before anybody takes them, in the whole
    #                      process; 256 MiB. A call needs 1 MiB of it while half of it is free, then 64 KiB, which
    #                      become 1 MiB when its answer is taken as it comes; without 64 KiB it waits its turn
    OF_PROCESS = %i[max_connections max_buffered_bytes].freeze

    # Ways to say who calls.
    WAYS = %i[bearer basic digest auth].freeze
    private_constant :WAYS

    attr_reader(*NAMES)

    # @return [Options] with every default, and no timeout
    def self.defaults
      @defaults ||= new(DEFAULTS.merge(keylog: ENV.fetch("SSLKEYLOGFILE", nil)))
    end

    # @param given [Hash{Symbol => Object}] per-call options
    # @return [Hash{Symbol => Object}] the same, checked
    # @raise [InvalidRequest]
    def self.check_call(given)
      given.to_h { |name, value| [name, Checks.public_send(name, value)] }
    end

    # @return [InvalidRequest] for an option that no one knows, with the nearest that is known
    def self.unknown(name, known = NAMES)
      if CALL_ONLY.include?(name)
        return InvalidRequest.new("#{name}: is an option of a call, not of a client: client.post(url, #{name}: ...)")
      end

      if OF_PROCESS.include?(name)
        return InvalidRequest.new("#{name}: is a limit of the process: Trunkline.configure { |c| c.#{name} = ... }")
      end

      nearest = DidYouMean::SpellChecker.new(dictionary: known).correct(name).first if defined?(DidYouMean)
      InvalidRequest.new("unknown option #{name.inspect}#{"; did you mean #{nearest}:?" if nearest} " \
                         "(known are #{known.join(", ")})")
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

      values = changes.to_h { |name, value| [name, name == :timeout ? value : Checks.public_send(name, value)] }
      dup.change(settle(values))
    end

    # @return [Hash{Symbol => Object}]
    def to_h
      NAMES.to_h { |name| [name, instance_variable_get(:"@#{name}")] }
    end

    # What the engine needs to know (see Engine).
    #
    # @param owner [Integer] number of the client's family
    # @return [Hash{Symbol => Object}]
    # @raise [MissingTimeout]
    def to_engine(owner)
      raise MissingTimeout unless timeout

      {
        timeouts: timeout.phases, total: timeout.total, expect: expect || 0.0,
        max_header_bytes: max_header_bytes, max_headers: max_headers,
        max_body_bytes: max_body_bytes || 0, max_streamed_bytes: @max_streamed_bytes || 0,
        max_decode_ratio: max_decode_ratio || 0,
        max_connections_per_host: max_connections_per_host, idle_timeout: idle_timeout,
        max_age: max_age, busy_poll: busy_poll, decode: decode, replay_safe: replay == :safe, owner: owner,
        http: http, sockets: SocketOptions.to_engine(bind, tcp_keepalive, tcp_user_timeout),
        tls: tls_to_engine
      }
    end

    # Options whose values are not shown: credentials, what may be some, and the caller's own objects.
    HIDDEN_VALUES = %i[bearer basic digest auth netrc headers params early_hints ca_store].freeze
    private_constant :HIDDEN_VALUES

    # Credentials, and what may be some, are not shown.
    def inspect
      shown = to_h.reject { |name, value| value == DEFAULTS[name] }.map do |name, value|
        value = value.to_h.compact if name == :timeout
        "#{name}: #{HIDDEN_VALUES.include?(name) ? HIDDEN : value.inspect}"
      end
      "#<#{self.class} #{shown.join(", ")}>"
    end

    protected

    def change(values)
      values.each { |name, value| instance_variable_set(:"@#{name}", value) }
      freeze
    end

    private

    def tls_to_engine
      { verify: verify, verify_hostname: verify_hostname, ca_file: ca_file, ca_path: ca_path,
        ca_store: ca_store, client_cert: client_cert, client_key: client_key, verify_depth: verify_depth,
        min_version: min_tls, max_version: max_tls || 0, ciphers: ciphers, ciphersuites: ciphersuites,
        keylog: keylog }
    end

    # What depends on what was there, or on more than one option.
    def settle(values)
      values[:timeout] = Timeouts.of(values[:timeout], timeout) if values[:timeout]
      # The default is for bodies that are kept whole; a limit that was asked for holds for all.
      values[:max_streamed_bytes] = values[:max_body_bytes] if values.key?(:max_body_bytes)
      values[:headers] = Headers.overlay(headers, values[:headers]).freeze if values.key?(:headers)
      values[:params] = Options.join(params, values[:params]) if values.key?(:params)
      authenticate(values)
      certify(values)
      order_versions(values)
      values
    end

    # One way at a time; what is set later takes the place of what was there.
    def authenticate(values)
      given = WAYS.select { |way| values[way] }
      raise InvalidRequest, "#{given.join(": and ")}: exclude each other; give one" if given.size > 1

      (WAYS - given).each { |way| values[way] = nil } unless given.empty?
    end

    # A PEM file may hold both certificate and key.
    def certify(values)
      values[:client_key] = values[:client_cert] if values.key?(:client_cert) && !values.key?(:client_key)
      return if values.fetch(:client_key) { client_key }.nil? || values.fetch(:client_cert) { client_cert }

      raise InvalidRequest, "client_key: needs client_cert: beside it"
    end

    def order_versions(values)
      lowest = values.fetch(:min_tls) { min_tls }
      highest = values.fetch(:max_tls) { max_tls }
      return if highest.nil? || highest >= lowest

      raise InvalidRequest, "max_tls: #{Checks::TLS_VERSIONS.key(highest)} is below min_tls: " \
                            "#{Checks::TLS_VERSIONS.key(lowest)}"
    end
  end
end
