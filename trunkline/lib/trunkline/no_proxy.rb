# frozen_string_literal: true

require "ipaddr"
require_relative "comma_list"

module Trunkline
  # The hosts that are reached without a proxy. The list, separated by commas or blanks, has names ("api.test" is that
  # host and all its subdomains; ".api.test" and "*.api.test" are the subdomains alone), addresses and networks
  # ("10.0.0.0/8"), each optionally with a port ("api.test:8080", "[::1]:80"); "*" is every host. The local host is
  # never reached through a proxy from the environment.
  class NoProxy
    ENTRY = /\A(?:\[([^\]]*)\]|([^:]*)|([^\[\]]*:[^\[\]]*:[^\[\]]*))(?::(\d+))?\z/
    LOCALHOST = /\A(?:.+\.)?localhost\.?\z/i

    # @param list [String, nil]
    # @param loopback [Boolean] whether localhost and loopback addresses are among these hosts
    def initialize(list, loopback: true)
      @loopback = loopback
      entries = CommaList.parse(list.to_s)
      @all = entries.include?("*")
      @rules = entries.filter_map { |entry| rule(entry) }.freeze
    end

    # @param host [String] without brackets
    # @param port [Integer]
    # @return [Boolean] whether the host is reached without a proxy
    def direct?(host, port)
      return @all if @rules.empty? && !@loopback

      address = address_of(host)
      return true if @all || (@loopback && (address ? address.loopback? : LOCALHOST.match?(host)))

      name = host.downcase.delete_suffix(".")
      @rules.any? { |accepts, only| (only.nil? || only == port) && accepts.call(name, address) }
    end

    private

    # An invalid entry makes no rule.
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
