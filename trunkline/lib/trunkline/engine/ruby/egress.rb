# frozen_string_literal: true

require "ipaddr"
require "socket"
require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Checks which addresses calls may connect to (the option egress:, see docs/egress.md). An address is an IPAddr;
      # an IPv4-mapped IPv6 address counts as IPv4.
      class Egress
        include Redacted

        # Networks that are not public: network, description, source. Narrower networks come before those that include
        # them. The last rows refuse all IPv6 addresses except those assigned as global unicast.
        SPECIAL = [
          ["169.254.169.254/32", "a metadata service", "link-local, RFC 3927"],
          ["168.63.129.16/32", "a metadata service", "of Azure"],
          ["100.100.100.200/32", "a metadata service", "of Alibaba Cloud"],
          ["192.0.0.192/32", "a metadata service", "of Oracle Cloud"],
          ["0.0.0.0/8", "this host or network", "RFC 1122"], ["10.0.0.0/8", "private", "RFC 1918"],
          ["100.64.0.0/10", "behind carrier-grade NAT", "RFC 6598"], ["127.0.0.0/8", "loopback", "RFC 1122"],
          ["169.254.0.0/16", "link-local", "RFC 3927"], ["172.16.0.0/12", "private", "RFC 1918"],
          ["192.0.0.0/24", "of IETF protocols", "RFC 6890"], ["192.0.2.0/24", "for documentation", "RFC 5737"],
          ["192.88.99.0/24", "a relay of 6to4", "RFC 7526"], ["192.168.0.0/16", "private", "RFC 1918"],
          ["198.18.0.0/15", "for benchmarks", "RFC 2544"], ["198.51.100.0/24", "for documentation", "RFC 5737"],
          ["203.0.113.0/24", "for documentation", "RFC 5737"], ["224.0.0.0/4", "multicast", "RFC 5771"],
          ["255.255.255.255/32", "broadcast", "RFC 919"], ["240.0.0.0/4", "reserved", "RFC 1112"],
          ["fd00:ec2::254/128", "a metadata service", "of AWS"],
          ["fd20:ce::254/128", "a metadata service", "of Google Cloud"],
          ["::/128", "unspecified", "RFC 4291"], ["::1/128", "loopback", "RFC 4291"],
          ["::/96", "IPv4-compatible", "RFC 4291"], ["::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"],
          ["64:ff9b:1::/48", "of a local NAT64", "RFC 8215"], ["100::/64", "to be discarded", "RFC 6666"],
          ["2001::/32", "of Teredo", "RFC 4380"], ["2001:2::/48", "for benchmarks", "RFC 5180"],
          ["2001:db8::/32", "for documentation", "RFC 3849"], ["2001::/23", "of IETF protocols", "RFC 2928"],
          ["2002::/16", "of 6to4", "RFC 3056"], ["3fff::/20", "for documentation", "RFC 9637"],
          ["5f00::/16", "of segment routing", "RFC 9602"], ["fc00::/7", "private", "RFC 4193"],
          ["fe80::/10", "link-local", "RFC 4291"], ["fec0::/10", "site-local", "RFC 3879"],
          ["ff00::/8", "multicast", "RFC 4291"], ["64:ff9b::/96", nil, nil], ["2000::/3", nil, nil],
          ["::/0", "no global unicast address", "RFC 4291"]
        ].map { |network, is, source| [IPAddr.new(network), network, is, source].freeze }.freeze
        NAT64 = IPAddr.new("64:ff9b::/96")
        private_constant :SPECIAL, :NAT64

        # @return [Array] equal for rules that allow the same addresses
        attr_reader :key

        # @param rule [Hash] see Options::Egress
        def initialize(rule)
          @allow = rule.fetch(:allow).map { |text| [plain(IPAddr.new(text)), text] }
          @deny = rule.fetch(:deny).map { |text| [plain(IPAddr.new(text)), text] }
          @ports = rule.fetch(:ports)
          @unix = rule.fetch(:unix)
          @proxy = rule.fetch(:proxy)
          @key = ["egress", rule.to_a].freeze
          freeze
        end

        # @param origin [Origin]
        # @raise [Failure] when no connection may be opened for it
        def check_route(origin)
          return @unix || refuse("a Unix socket needs unix: true in egress:") if origin.unix_path

          refuse("port #{origin.port} is not one of ports:") unless @ports.empty? || @ports.include?(origin.port)
          return unless origin.proxy

          refuse("a proxy needs proxy: true in egress:") unless @proxy
          check_literal(origin.host)
        end

        # @param addresses [Array<Addrinfo>]
        # @raise [Failure] unless all may be dialled
        def check(addresses)
          addresses.each { |one| check_address(one.ip_address) }
        end

        private

        def refuse(reason)
          raise Failure.new(:EGRESS, reason, phase: :connect)
        end

        # Checks a host in any notation that the resolver, or the proxy's resolver, reads as an address: 127.1,
        # 0x7f000001.
        def check_literal(host)
          found = Socket.getaddrinfo(host, nil, nil, :STREAM, nil, Socket::AI_NUMERICHOST)
          check_address(found.first[3])
        rescue SocketError
          nil
        end

        def check_address(text)
          reason = refusal_reason(plain(IPAddr.new(text[/\A[^%]+/])))
          refuse("#{text} #{reason}") if reason
        end

        # Converts an IPv4-mapped IPv6 address or network to IPv4.
        def plain(address)
          address.ipv6? && address.ipv4_mapped? && address.prefix >= 96 ? address.native : address
        end

        # @return [String, nil] the rest of a sentence that begins with the address
        def refusal_reason(address)
          denied = @deny.find { |network, _| holds?(network, address) }
          return "is denied (deny: #{network_words(denied)})" if denied
          return if @allow.any? { |network, _| holds?(network, address) }

          _, network, is, source = SPECIAL.find { |one,| holds?(one, address) }
          return "is #{is} (#{network}, #{source})" if is

          embedded = embedded_ipv4(address)
          why = embedded && refusal_reason(embedded)
          "leads to #{mapped_words(embedded)}, which #{why}" if why
        end

        def network_words(denied)
          network, text = denied
          if text.include?("/")
            text
          else
            "#{text}/#{network.ipv4? ? 32 : 128}"
          end
        end

        def mapped_words(address) = address.to_s

        def holds?(network, address)
          network.family == address.family && network.include?(address)
        end

        # Returns the IPv4 address that a NAT64 or ISATAP address contains.
        def embedded_ipv4(address)
          return unless address.ipv6?

          bytes = address.hton
          interface = bytes.byteslice(8, 4)
          interface.setbyte(0, interface.getbyte(0) & 0xfd) # the bit that marks the IPv4 address as globally unique
          return unless NAT64.include?(address) || interface == "\x00\x00\x5e\xfe".b

          IPAddr.new_ntoh(bytes.byteslice(12, 4))
        end
      end
    end
  end
end
