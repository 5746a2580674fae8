# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # The timeouts of a call, in seconds; frozen. Every call has at least one: with a total, a phase that was not named
  # has no limit of its own (nil); without a total, it has DEFAULT.
  #
  #   queue       waiting for a connection when max_connections_per_host are in use
  #   resolve     resolving the host's name
  #   connect     making the connection, over all addresses
  #   tls         the TLS handshake
  #   write       how long the server may accept no byte of the request
  #   first_byte  from the end of the written request to the first byte of the response
  #   read        between two bytes of the response
  #   total       everything together, redirects included
  class Timeouts
    PHASES = %i[queue resolve connect tls write first_byte read].freeze
    NAMES = [*PHASES, :total].freeze
    # Names of the phases in other HTTP clients.
    SYNONYMS = { open: :connect, open_timeout: :connect, connect_timeout: :connect, ssl: :tls, ssl_timeout: :tls,
                 read_timeout: :read, write_timeout: :write, timeout: :total, overall: :total, request: :total,
                 response: :first_byte, pool: :queue, dns: :resolve }.freeze
    private_constant :SYNONYMS
    ALLOWED = "a positive number of seconds, or a Hash of them by #{NAMES.join(", ")}".freeze

    # Seconds for each phase that was not named, or was given as nil, where there is no total.
    DEFAULT = 30.0
    # Seconds, 31 years: no limit, where another library's API promises to wait for ever.
    ENDLESS = 1.0e9
    LARGEST = Float::MAX.to_i
    private_constant :LARGEST

    attr_reader(*NAMES)

    # @param value [Numeric, ActiveSupport::Duration, Hash, Timeouts] a number is the total, and replaces what was set
    #   before; a Hash changes the limits it names
    # @param base [Timeouts, nil] the timeouts that were set before
    # @return [Timeouts]
    # @raise [InvalidRequest] for an unknown name or an invalid number
    # @raise [MissingTimeout] when no timeout is given, as with {}, or none is left
    def self.of(value, base = nil)
      case value = plain(value)
      when Timeouts then value
      when nil then raise MissingTimeout
      when Numeric then new({ total: value })
      when Hash then new(base && !value.empty? ? base.explicit.merge(value) : value)
      else raise InvalidRequest.of("timeout", value, ALLOWED)
      end
    end

    # @param seconds [Hash{Symbol => Numeric, nil}]
    def initialize(seconds)
      unknown = seconds.keys - NAMES
      raise Timeouts.unknown(unknown.first) unless unknown.empty?
      raise MissingTimeout if seconds.values.compact.empty?

      limits = NAMES.to_h { |name| [name, Timeouts.seconds_or_nil("timeout: #{name}", seconds[name])] }
      @explicit = limits.compact.freeze
      NAMES.each { |name| instance_variable_set(:"@#{name}", @explicit.fetch(name) { default(name) }) }
      freeze
    end

    # @return [InvalidRequest]
    # @api private
    def self.unknown(name)
      phase = SYNONYMS[name]
      InvalidRequest.of("timeout", name, "of #{NAMES.join(", ")}#{"; the name here is #{phase}:" if phase}")
    end

    # @return [Object] the seconds of an ActiveSupport::Duration as a Float; any other value unchanged
    # @api private
    def self.plain(value)
      # Not is_a?, because a Duration overrides it with the classes of its number.
      defined?(::ActiveSupport::Duration) && ::ActiveSupport::Duration === value ? value.to_f : value # rubocop:disable Style/CaseEquality
    end

    # @param argument [String, Symbol] the name of the option, for the error message
    # @param value [Object]
    # @return [Float]
    # @raise [InvalidRequest] for a value that is not a positive number
    # @api private
    def self.seconds(argument, value)
      value = plain(value)
      value = [value, LARGEST].min if value.is_a?(Integer) # JRuby 9.4 warns when it compares one with a Float
      seconds = [value, Float::MAX].min.to_f if value.is_a?(Numeric) && value.real? && value.finite?
      return seconds if seconds&.positive?

      raise InvalidRequest.of(argument, value, "a positive number of seconds")
    end

    # @return [Float, nil] the same as .seconds; nil for nil
    # @api private
    def self.seconds_or_nil(argument, value)
      value.nil? ? nil : seconds(argument, value)
    end

    # @return [Hash{Symbol => Float, nil}]
    def to_h
      NAMES.to_h { |name| [name, public_send(name)] }
    end

    # @return [Hash{Symbol => Float, nil}] without the total
    def phases
      PHASES.to_h { |name| [name, public_send(name)] }
    end

    def ==(other)
      other.is_a?(Timeouts) && to_h == other.to_h
    end
    alias eql? ==

    def hash = to_h.hash

    # @return [Hash{Symbol => Float}] the timeouts that were given, without defaults
    # @api private
    attr_reader :explicit

    private

    def default(name)
      DEFAULT unless name == :total || @explicit.key?(:total)
    end
  end
end
