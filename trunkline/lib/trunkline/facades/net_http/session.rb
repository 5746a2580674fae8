# frozen_string_literal: true

require "net/protocol"
require_relative "../../redacted"
require_relative "clients"
require_relative "debug_output"
require_relative "errors"
require_relative "options"
require_relative "request_adapter"
require_relative "warnings"

module Trunkline
  module Facades
    module NetHTTP
      # Takes the place of the socket in a Net::HTTP session that Trunkline runs. Its superclass is for libraries that
      # check the socket's class. It holds no connection: each request takes one from the pool and returns it, so any
      # number of sessions share them.
      class Session < Net::BufferedIO
        include Redacted

        # The object that Session#io returns, for libraries that use the socket (net-http-persistent sets socket
        # options).
        Socket = Struct.new(:session) do
          include Redacted

          # TCP_NODELAY is set already. Other options are ignored, because other sessions share the connections.
          def setsockopt(level, name = nil, value = nil)
            return if level == ::Socket::IPPROTO_TCP && name == ::Socket::TCP_NODELAY && value == 1

            Warnings.once("socket options are ignored where Net::HTTP shares connections: others use them too")
          end

          # @return [String, nil] of the connection that #open found; nil without TLS
          def ssl_version = session.info.tls_version

          # @return [Array, nil] as OpenSSL::SSL::SSLSocket#cipher, without the bits
          def cipher = session.info.cipher && [session.info.cipher, ssl_version]

          # @return [Array] as IPSocket#peeraddr, of the connection that #open found
          def peeraddr(*)
            host, port = session.address.delete("[]").match(/\A(.*):(\d+)\z/).captures
            [host.include?(":") ? "AF_INET6" : "AF_INET", Integer(port), host, host]
          end
        end

        # @return [String] "127.0.0.1:80", the server or proxy that connections are made to
        attr_reader :endpoint
        # @return [DebugOutput, nil] nil unless the session has set_debug_output
        attr_reader :trace

        # @param http [Net::HTTP]
        # @param hooked [Boolean] whether libraries that hook Net::HTTP see this session's requests there
        # @raise [InvalidRequest] when Trunkline cannot run the session
        def initialize(http, hooked:)
          output = http.instance_variable_get(:@debug_output)
          super(Socket.new(self), debug_output: output)
          @trace = output && DebugOutput.new(output)
          @http = http
          @hooked = hooked
          @endpoint = http.proxy? ? "#{http.proxy_address}:#{http.proxy_port}" : "#{http.address}:#{http.port}"
          @origin = Options.origin(http)
          forget_clients
          @closed = false
          @client = client(false) # checks the options before the session begins
        end

        # Opens a connection unless one is idle, because Net::HTTP#start raises when it cannot connect.
        # @raise [SystemCallError, SocketError, Net::OpenTimeout, OpenSSL::SSL::SSLError]
        def open
          @trace&.line("opening connection to #{endpoint}...")
          @info = hooking { Errors.convert_errors(self) { client(false).connect(@origin) } }
          @trace&.connected(@info, endpoint)
          @info
        end

        # @return [ConnectionInfo] of a connection that #open found
        def info = @info || self.open

        # @return [String] "127.0.0.1:80"
        def address = info.address

        # @param req [Net::HTTPGenericRequest]
        # @param target [String] for the request line
        # @param streaming [Boolean] whether the caller reads the body in chunks
        # @return [Request]
        # @raise [InvalidRequest] for a request that Net::HTTP must send itself
        def build(req, target, streaming)
          adapter = RequestAdapter.new(req)
          wait = adapter.expects_continue? && Options.seconds(@http.continue_timeout)
          # Net::HTTP itself decodes a traced body, because the trace contains the undecoded bytes.
          client = client(req.decode_content && !@trace, expect: wait || false)
          request = Errors.convert_errors(self) { raw(client, req, target, adapter, streaming || !@trace.nil?) }
          @trace&.request(req.method, target, adapter)
          request
        end

        # @return [Response]
        def perform(request)
          response = hooking { Errors.convert_errors(self) { @client.execute(request) } }
          @trace&.head(response)
          response
        end

        def closed?
          @closed
        end

        def close
          @closed = true
        end

        # Net::HTTP calls the writers before it stores a changed timeout, so #client must read the timeouts again later.
        %i[read_timeout write_timeout continue_timeout].each do |name|
          define_method(name) { @http.public_send(name) }
          define_method(:"#{name}=") { |_| forget_clients }
        end

        private

        def hooking(&block)
          @hooked ? CallerContext.hooked(:net_http, &block) : yield
        end

        # The message does not quote the method, target or field: they may contain a credential.
        def raw(client, req, target, adapter, streaming)
          client.raw(req.method, RequestAdapter.url(@origin, target), target, adapter.fields, adapter.content,
                     adapter.length, streaming)
        rescue InvalidRequest
          raise InvalidRequest, "a method, target or header field that HTTP does not allow"
        end

        # @param decode [Boolean]
        # @param expect [Float, false] seconds
        # @return [Client]
        def client(decode, expect: false)
          clients = decode ? @decoding : @undecoding
          clients[expect] ||= Clients.for(Options.client_options(@http).merge(decode: decode, expect: expect))
        end

        def forget_clients
          @decoding = {}
          @undecoding = {}
        end
      end
    end
  end
end
