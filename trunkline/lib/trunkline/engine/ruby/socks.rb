# frozen_string_literal: true

require "ipaddr"
require "socket"
require_relative "proxy_io"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      module Tunnel
        # SOCKS 5 (RFC 1928), with user and password (RFC 1929). No byte beyond a reply is read, since it would belong
        # to the server.
        class Socks
          include Redacted

          REPLIES = [
            "it succeeded", "general SOCKS server failure", "connection not allowed by its rules",
            "network unreachable", "host unreachable", "connection refused", "TTL expired", "command not supported",
            "address type not supported"
          ].freeze
          VERSION = 5
          FIELD_MOST = 255
          ADDRESS_BYTES = { 1 => 4, 4 => 16 }.freeze
          private_constant :REPLIES, :VERSION, :FIELD_MOST, :ADDRESS_BYTES

          include ProxyIO

          def initialize(origin, io, target)
            super(origin, io)
            @target = target
            check("host name", origin.host)
            check("user", @proxy.user)
            check("password", @proxy.password)
            @out = (@proxy.user ? [VERSION, 2, 0, 2] : [VERSION, 1, 0]).pack("C*")
            @stage = :method
          end

          def step
            loop do
              wanted = flush || need(@stage == :reply ? 5 : 2)
              return wanted if wanted

              done = send(:"take_#{@stage}")
              return done if done
            end
          end

          private

          def check(what, text)
            return if text.nil? || text.bytesize.between?(1, FIELD_MOST)

            raise failure("SOCKS takes a #{what} of 1 to #{FIELD_MOST} bytes; this one has #{text.bytesize}, and " \
                          "nothing was sent")
          end

          # Reads until @in has count bytes, and no more.
          def need(count)
            while @in.bytesize < count
              wanted = fill(count - @in.bytesize)
              return wanted if wanted
            end
          end

          def take_method
            version, method = taken(2)
            raise failure("what it says is not SOCKS 5 (version #{version})") unless version == VERSION
            return request if method.zero?
            return credentials if method == 2 && @proxy.user

            if method == 0xff
              raise failure(@proxy.user ? "it takes neither a password nor none" : "it wants a user and a password")
            end

            raise failure("it chose authentication #{method}, which was not offered")
          end

          def take_status
            raise failure("it did not accept the user and password") unless taken(2).last.zero?

            request
          end

          # The reply ends with the bound address, which is not used; the address type determines its length.
          def take_reply
            version, reply, reserved, type, first = @in.bytes
            raise failure("its reply is malformed") unless version == VERSION && reserved.zero?
            raise failure("#{REPLIES.fetch(reply, "an unknown SOCKS error")} (SOCKS reply #{reply})") unless reply.zero?

            size = type == 3 ? 1 + first : ADDRESS_BYTES[type]
            raise failure("its reply has an address of unknown type #{type}") unless size

            need(4 + size + 2) || true
          end

          def taken(count)
            bytes = @in.byteslice(0, count).bytes
            @in = @in.byteslice(count..)
            bytes
          end

          def credentials
            @stage = :status
            @out = [1, @proxy.user.bytesize, @proxy.user, @proxy.password.bytesize, @proxy.password].pack("CCa*Ca*")
            nil
          end

          def request
            @stage = :reply
            @out = [VERSION, 1, 0].pack("C*") << destination << [@origin.port].pack("n")
            nil
          end

          def destination
            address = @target || literal
            return [3, @origin.host.bytesize, @origin.host].pack("CCa*") unless address

            bytes = IPAddr.new(address.ip_address[/\A[^%]+/]).hton
            [address.ipv6? ? 4 : 1].pack("C") << bytes
          end

          def literal
            Addrinfo.getaddrinfo(@origin.host, nil, nil, :STREAM, nil, Socket::AI_NUMERICHOST).first
          rescue SocketError
            nil
          end
        end
      end
    end
  end
end
