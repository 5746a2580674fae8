# frozen_string_literal: true

require_relative "../../memo"
require_relative "../../redacted"
require_relative "clients"
require_relative "errors"
require_relative "options"
require_relative "request_adapter"
require_relative "warnings"

module Trunkline
  module Facades
    module NetHTTP
      # Takes the place of the socket in a Net::HTTP session that Trunkline runs. It holds no connection: each request
      # takes one from the pool and gives it back, so any number of sessions share them.
      class Session
        include Redacted

        # What Session#io returns, for libraries that use the socket (net-http-persistent sets socket options).
        Socket = Struct.new(:session) do
          include Redacted

          # TCP_NODELAY is set already. Other options are ignored, because other sessions share the connections.
          def setsockopt(level, name = nil, value = nil)
            return if level == ::Socket::IPPROTO_TCP && name == ::Socket::TCP_NODELAY && value == 1

            Warnings.once("socket options are ignored where Net::HTTP shares connections: others use them too")
          end

          # @return [Array] as IPSocket#peeraddr, of the connection that #open found
          def peeraddr(*)
            host, port = session.address.delete("[]").match(/\A(.*):(\d+)\z/).captures
            [host.include?(":") ? "AF_INET6" : "AF_INET", Integer(port), host, host]
          end
        end

        # Composed requests that a client keeps.
        KNOWN = 256
        private_constant :KNOWN

        # @return [String] "127.0.0.1:80", the server or proxy that connections are made to
        attr_reader :endpoint

        # @param http [Net::HTTP]
        # @raise [InvalidRequest] when Trunkline cannot run the session
        def initialize(http)
          @http = http
          @endpoint = http.proxy? ? "#{http.proxy_address}:#{http.proxy_port}" : "#{http.address}:#{http.port}"
          @origin = Options.origin(http)
          @entries = {}
          @closed = false
          entry(false) # checks the options before the session begins
        end

        # Opens a connection unless one is idle: Net::HTTP#start raises when it cannot connect.
        # @raise [SystemCallError, SocketError, Net::OpenTimeout, OpenSSL::SSL::SSLError]
        def open
          @info = Errors.converting(self) { entry(false).client.connect(@origin) }
        end

        # @return [String] "127.0.0.1:80"
        def address
          (@info || self.open).address
        end

        # @param req [Net::HTTPGenericRequest]
        # @param target [String] for the request line
        # @return [Composer::Plan]
        # @raise [InvalidRequest] for a request that Net::HTTP must send itself
        def plan(req, target)
          return compose(req, target) if RequestAdapter.content?(req)

          plans = entry(req.decode_content).plans
          fields = req.instance_variable_get(:@header)
          key = [req.method, target, @origin, fields]
          plans[key] || Memo.keep(plans, KNOWN, [*key[0, 3], fields.transform_values(&:dup)], compose(req, target))
        end

        # @param streaming [Boolean] whether the caller reads the body in chunks
        # @return [Response]
        def perform(plan, streaming)
          Errors.converting(self) { entry(false).client.carry(plan, streaming) }
        end

        def io
          Socket.new(self)
        end

        def closed?
          @closed
        end

        def close
          @closed = true
        end

        # Net::HTTP calls these on its socket before it stores a changed timeout; #entry reads the timeouts again.
        %i[read_timeout= write_timeout= continue_timeout=].each do |name|
          define_method(name) { |_| @entries.clear }
        end

        private

        def compose(req, target)
          request = RequestAdapter.new(req)
          wait = request.expects_continue? && Options.seconds(@http.continue_timeout)
          client = entry(req.decode_content, expect: wait || false).client
          Errors.converting(self) { compose_with(client, req, target, request) }
        end

        # The message does not quote the method, target or field: they may contain a credential.
        def compose_with(client, req, target, request)
          client.verbatim(req.method, RequestAdapter.url(@origin, target), target, request.fields, request.content,
                          request.length)
        rescue InvalidRequest
          raise InvalidRequest, "a method, target or header field that HTTP does not allow"
        end

        def entry(decode, expect: false)
          @entries[[decode, expect]] ||=
            Clients.entry(Options.client_options(@http).merge(decode: decode, expect: expect))
        end
      end
    end
  end
end
