# frozen_string_literal: true

require_relative "head"
require_relative "framing"
require_relative "socks"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Opens the tunnel through a proxy. Never waits: #step returns true, or the event to wait for.
      module Tunnel
        # @param origin [Origin]
        # @param io [SocketIO] the connection to the proxy
        # @param target [Addrinfo, nil] the server's address, unless the proxy resolves the name
        # @return [#step, #timed_out]
        def self.for(origin, io, target)
          origin.proxy.http? ? Connect.new(origin, io) : Socks.new(origin, io, target)
        end

        # CONNECT to an HTTP proxy (RFC 9110 9.3.6), and its response.
        class Connect
          include Redacted

          include ProxyIO

          READ_BYTES = 4096
          private_constant :READ_BYTES

          def initialize(origin, io)
            super
            host = origin.host.include?(":") ? "[#{origin.host}]" : origin.host
            authority = "#{host}:#{origin.port}"
            credentials = "Proxy-Authorization: #{@proxy.authorization}\r\n" if @proxy.authorization
            @out = "CONNECT #{authority} HTTP/1.1\r\nHost: #{authority}\r\n#{credentials}\r\n".b
            @informational = 0
            begin_head
          end

          def step
            wanted = flush
            return wanted if wanted

            @refused ? take_body : take_head
          end

          def timed_out(limit) = @refused ? refusal : super

          private

          def begin_head
            @head = Head.new(@origin.config.limits, false, false)
          end

          def take_head
            until @head.parse(@in)
              wanted = fill(READ_BYTES)
              return wanted if wanted
            end
            return after_informational if @head.status < 200
            return begin_refusal if @head.status > 299

            # Content-Length and Transfer-Encoding have no meaning here. The server sends nothing before the client
            # does, so further bytes are not from the server.
            extra = @in.bytesize - @head.length
            raise failure("#{extra} bytes followed its answer to CONNECT") if extra.positive?

            true
          rescue Failure => error
            raise if error.code.start_with?("PROXY")

            came = ": #{Head.quote(@in)}" if error.code == :STATUS_LINE
            raise failure("its answer to CONNECT is not HTTP: #{FAILURES.fetch(error.code).last}#{came}")
          end

          def after_informational
            @in = @in.byteslice(@head.length..)
            begin_head
            raise Failure, :INFORMATIONAL_LIMIT if (@informational += 1) > @origin.config.limits.informational

            take_head
          end

          def begin_refusal
            @in = @in.byteslice(@head.length..)
            @framing = Framing.new(@head, @origin.config.limits)
            @refused = "".b
            take_body
          end

          # Reads the body of a refusal for the error.
          def take_body
            loop do
              result = @framing.next(@in, 0)
              @refused << @in.byteslice(@framing.from, @framing.to - @framing.from) if result == :data
              @in = @in.byteslice(@framing.at..)
              raise refusal if result == :done || @refused.bytesize >= Limits::PROXY_REFUSAL_BYTES
              next if result == :data

              wanted = fill(READ_BYTES)
              return wanted if wanted
            end
          rescue Failure => error
            raise error.code == :PROXY_REFUSED ? error : refusal
          end

          def ended = @refused ? raise(refusal) : super

          def refusal
            reason = " #{@head.reason[0, 120]}" unless @head.reason.empty?
            refused = Failure.new(:PROXY_REFUSED, "proxy #{@proxy.label[0, 60]}: #{@head.status}#{reason}",
                                  phase: :connect)
            refused.refusal = { status: @head.status, fields: @head.fields,
                                body: @refused.byteslice(0, Limits::PROXY_REFUSAL_BYTES) }
            refused
          end
        end
      end
    end
  end
end
