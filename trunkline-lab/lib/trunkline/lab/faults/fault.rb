# frozen_string_literal: true

module Trunkline
  module Lab
    module Faults
      # One fault of a server. The script is called with the connection when a request has been read completely. The
      # connection is an Origins::Scripted::Connection, or an object with the same methods.
      #
      # group, name, does: for tables. body: the body that the caller must get, or nil if the call must fail. verb: of
      # the call. upload: size of the request body in bytes; with it, the script is called when only the head has been
      # read. warm: a good call comes first, so that the connection is a reused one. pause: seconds before the call that
      # follows. tls: the fault exists only with TLS. follow: the client follows redirects. headers: of the call. coded:
      # the encoded body, for clients that leave decoding to the caller. coding: a content coding that the client must
      # support. place: target of the call instead of a server with the script: :full_queue, :silent or :handshake
      # (identity: the certificate that the server presents). http2: the connection speaks HTTP/2, and the script is
      # called with the HTTP2::FrameStream of the request. late: the fault comes after the end of the call, and may
      # affect the call that follows, which then fails, too. untried: the reason why the lab tries no client on the
      # fault.
      Fault = Struct.new(:group, :name, :does, :body, :verb, :upload, :warm, :pause, :tls, :follow, :headers, :coded,
                         :coding, :place, :identity, :http2, :late,
                         :untried, :script, keyword_init: true) do
        # @return [Boolean] whether the fault keeps a CPU busy, so that no other fault should be tried at the same time
        def flood? = script && group == "HTTP/2: floods"

        # @return [Boolean] whether the server gets the request before the fault occurs
        def request_received? = place.nil?
      end

      # Raw responses.
      module Bytes
        OK = "HTTP/1.1 200 OK\r\n"
        MEGABYTE = ("\0" * 1_048_576).freeze

        module_function

        # @return [String] a response with these fields and this body, even if they contradict each other
        def head(*fields, body: "ok") = "#{OK}#{fields.map { |field| "#{field}\r\n" }.join}\r\n#{body}".b

        def response(body = "ok", status: "200 OK", **headers)
          lines = { "Content-Length" => body.bytesize, **headers }.map { |name, value| "#{name}: #{value}\r\n" }
          "HTTP/1.1 #{status}\r\n#{lines.join}\r\n".b + body.b
        end
      end

      # A group of faults: each group is a module that extends this one.
      module Group
        include Bytes

        # @return [Array<Fault>]
        def faults = @faults ||= []

        private

        def group(name) = @group = name

        # @param bytes [String, nil] raw bytes to send, instead of a script
        # @param rest [Hash] members of Fault
        def add(name, does, bytes = nil, verb: :get, pause: 0, headers: {}, **rest, &script)
          script ||= ->(connection) { connection << bytes } if bytes
          faults << Fault.new(group: @group, name: name, does: does, verb: verb, pause: pause, headers: headers,
                              script: script, **rest).freeze
        end
      end
    end
  end
end
