# frozen_string_literal: true

require "ipaddr"
require_relative "comma_list"

module Trunkline
  # Hosts that proxies are not for. A list, by commas or blanks, of names ("api.test" is that host
  # and all below it; ".api.test" and "*.api.test" those below it alone), addresses, networks ("10.0.0.0/8"), each
  # perhaps with a port ("api.test:8080", "[::1]:80"); "*" is every host. This machine itself is never reached through
  # a proxy of the environment's.
  class NoProxy
    ENTRY = /\A(?:\[([^\]]*)\]|([^:]*)|([^\[\]]*:[^\[\]]*:[^\[\]]*))(?::(\d+))?\z/
    LOCALHOST = /\A(?:.+\.)?localhost\.?\z/i

    # @param list [String, nil]
    # @param loopback [Boolean] whether this machine itself is among them
    def initialize(list, loopback: true)
      @loopback = loopback
      entries = CommaList.parse(list.to_s)
      @all = entries.include?("*")
      @rules = entries.filter_map { |entry| rule(entry) }.freeze
    end

    # @param host [String] without brackets
    # @param port [Integer]
    # @return [Boolean]
    def direct?(host, port)
      return @all if @rules.empty? && !@loopback

      address = address_of(host)
      return true if @all || (@loopback && (address ? address.loopback? : LOCALHOST.match?(host)))

      name = host.downcase.delete_suffix(".")
      @rules.any? { |accepts, only| (only.nil? || only == port) && accepts.call(name, address) }
    end

    private

    # What is no entry matches nothing.
    def rule(entry)
      bracketed, plain, bare_ipv6, port = ENTRY.match(entry)&.captures
      host = bracketed || plain || bare_ipv6
      return if host.nil? || host.empty?

      network = address_of(host)
      [network ? ->(_, address) { address && covers?(network, address) } : name_rule(host.downcase), port&.to_i]
    end

    def name_rule(text)
      below = ".#{text.sub(/\A\*?\./, "").delete_suffix(".")}"
      itself = below[1..] unless text.start_with?(".", "*.")
      ->(name, _) { name == itself || name.end_with?(below) }
    end

    def covers?(network, address)
      network.family == address.family && network.include?(address)
    end

    # 10.0.0.1 and ::ffff:10.0.0.1 are the same host.
    def address_of(text)
      IPAddr.new(text).native if text.match?(%r{\A[\h:./]+\z}) && text.match?(/[:.]/)
    rescue IPAddr::Error
      nil
    end
  end
end
