# frozen_string_literal: true

require_relative "../client"
require_relative "../memo"
require_relative "../redacted"
require_relative "failures"
require_relative "outgoing"
require_relative "settings"

module Trunkline
  module NetHTTP
    # Stands where Net::HTTP keeps its socket, for a session that Trunkline carries. It holds no connection: each
    # request takes one from the pool and gives it back, so any number of sessions share them.
    #
    # @api private
    class Session
      include Redacted

      # What libraries do to the socket below (net-http-persistent sets options of it).
      Socket = Struct.new(:session) do
        include Redacted

        # Nagle's delay is off already; nothing else can be promised of a connection that others use too.
        def setsockopt(level, name = nil, value = nil)
          return if level == ::Socket::IPPROTO_TCP && name == ::Socket::TCP_NODELAY && value == 1

          NetHTTP.say_once("socket options are ignored where Net::HTTP shares connections: others use them too")
        end

        # @return [Array] as IPSocket#peeraddr, of the connection that was looked at last
        def peeraddr(*)
          address = session.address
          host, port = address.delete("[]").match(/\A(.*):(\d+)\z/).captures
          [host.include?(":") ? "AF_INET6" : "AF_INET", Integer(port), host, host]
        end
      end

      # Requests without content are composed once.
      KNOWN = 256
      private_constant :KNOWN

      # @return [String] "127.0.0.1:80", where connections are made to: the server or a proxy
      attr_reader :place

      def initialize(http)
        @http = http
        @place = http.proxy? ? "#{http.proxy_address}:#{http.proxy_port}" : "#{http.address}:#{http.port}"
        @url = Settings.url(http)
        @lanes = {}
        @closed = false
        lane(false) # what cannot be carried is to be known before the session begins
      end

      # Sees to it that there is a connection, for Net::HTTP#start raises when there is none.
      # @raise [SystemCallError, SocketError, Net::OpenTimeout, OpenSSL::SSL::SSLError]
      def open
        @info = Failures.translated(self) { lane(false).client.connect(@url) }
      end

      # @return [String] "127.0.0.1:80"
      def address
        (@info || self.open).address
      end

      # @param req [Net::HTTPGenericRequest]
      # @param target [String] for the request line
      # @return [Composer::Plan]
      # @raise [InvalidRequest] when it is not Trunkline's to send
      def plan(req, target)
        return compose(req, target) if Outgoing.content?(req)

        plans = lane(req.decode_content).plans
        fields = req.instance_variable_get(:@header)
        key = [req.method, target, @url, fields]
        plans[key] || Memo.keep(plans, KNOWN, [*key[0, 3], fields.transform_values(&:dup)], compose(req, target))
      end

      # @return [Response]
      def carry(plan, streaming)
        Failures.translated(self) { lane(false).client.carry(plan, streaming) }
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

      # Net::HTTP hands changed limits on to its socket before it keeps them; they are asked for with each request.
      %i[read_timeout= write_timeout= continue_timeout=].each do |name|
        define_method(name) { |_| @lanes.clear }
      end

      private

      def compose(req, target)
        outgoing = Outgoing.of(req)
        waits = outgoing.expects_continue? && Settings.seconds(@http.continue_timeout)
        client = lane(req.decode_content, expect: waits || false).client
        Failures.translated(self) { verbatim(client, req, target, outgoing) }
      end

      # What exactly could not be sent may hold a secret.
      def verbatim(client, req, target, outgoing)
        client.verbatim(req.method, Settings.below(@url, target), target, outgoing.fields, outgoing.content,
                        outgoing.length)
      rescue InvalidRequest
        raise InvalidRequest, "a method, target or header field that HTTP does not allow"
      end

      def lane(decode, expect: false)
        @lanes[[decode, expect]] ||= Settings.lane(Settings.options(@http).merge(decode: decode, expect: expect))
      end
    end
  end
end
