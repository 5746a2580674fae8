# frozen_string_literal: true

require "ipaddr"
require_relative "errors"
require_relative "timeouts"

module Trunkline
  # How sockets are made: bind:, tcp_keepalive: and tcp_user_timeout:. Connections that were made otherwise are not
  # used: all of it is part of their key.
  module SocketOptions
    # A peer that vanishes is noticed after about two minutes of silence.
    KEEPALIVE = { idle: 30, interval: 10 }.freeze
    NO_KEEPALIVE = { idle: 0, interval: 0 }.freeze
    SECONDS = 1..32_767
    # IFNAMSIZ, its NUL included, is 16.
    INTERFACE = %r{\A[[:graph:]&&[^/:]]{1,15}\z}

    module_function

    # @param value [String, nil] an address of this machine ("192.0.2.7", "::1") or an interface ("eth1")
    # @return [Hash, nil] { address: } or { interface: }
    def bind(value)
      return if value.nil?

      text = value.is_a?(String) ? value : raise(refusal(:bind, value))
      return { address: text.dup.freeze }.freeze if address?(text)
      return { interface: text.dup.freeze }.freeze if INTERFACE.match?(text) && text.match?(/[A-Za-z]/)

      raise refusal(:bind, value)
    end

    # @param value [Boolean, Integer, Hash, nil] seconds of silence before the first probe, or { idle:, interval: }
    # @return [Hash] { idle:, interval: }; zeros for none
    def keepalive(value)
      case value
      when nil, true then KEEPALIVE
      when false then NO_KEEPALIVE
      when Integer then checked_keepalive({ idle: value }, value)
      when Hash then checked_keepalive(value, value)
      else raise refusal(:tcp_keepalive, value)
      end
    end

    # @param value [Numeric, nil] seconds
    # @return [Integer] milliseconds; 0 for the system's own
    def user_timeout(value)
      seconds = Timeouts.seconds("tcp_user_timeout", value)
      seconds ? [seconds * 1000, (1 << 31) - 1].min.ceil : 0
    end

    # @return [Hash{Symbol => Object}] for the engine
    def to_engine(bind, keepalive, user_timeout)
      { address: bind && bind[:address], interface: bind && bind[:interface],
        keepalive_idle: keepalive[:idle], keepalive_interval: keepalive[:interval], user_timeout: user_timeout }
    end

    def address?(text)
      IPAddr.new(text)
      !text.include?("/")
    rescue IPAddr::Error
      false
    end

    def checked_keepalive(given, value)
      whole = KEEPALIVE.merge(given)
      known = whole.size == KEEPALIVE.size && whole.each_value.all? { |n| n.is_a?(Integer) && SECONDS.cover?(n) }
      known ? whole.freeze : raise(refusal(:tcp_keepalive, value))
    end

    def refusal(option, value)
      InvalidRequest.of(option, value, {
        bind: "an IP address or the name of an interface",
        tcp_keepalive: "true, false, or whole seconds from 1 to 32767: 30, or { idle: 30, interval: 10 }"
      }.fetch(option))
    end

    private_class_method :address?, :checked_keepalive, :refusal
  end
end
