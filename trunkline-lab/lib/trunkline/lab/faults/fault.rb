# frozen_string_literal: true

module Trunkline
  module Lab
    module Faults
      # One thing that a server does wrong. The script is called with the connection when a request has been read whole;
      # the connection is an Origins::Scripted::Connection, or another that has its methods.
      #
      # group, name, does: for tables. body: what the caller must get, or nil where the call must fail. verb: of the
      # call. upload: bytes of the call's body; with it the script is called when the head alone has been read. warm: a
      # good call comes first, so that the connection is a kept one. pause: seconds until the call that follows. tls:
      # only TLS has it. follow: the client follows redirects. headers: of the call. coded: the body as it is sent, for
      # clients that leave codings to their callers. coding: what a client must be able to undo. place: where the call
      # goes instead of a server with the script: :full_queue, :silent or :handshake (identity: what is shown there).
      # http2: the connection speaks HTTP/2, and the script is called with the HTTP2::FrameStream of the request.
      # late: it comes behind the end of the call, and may be found by the call that follows, which then fails, too.
      # untried: the reason why the lab tries no client on it.
      Fault = Struct.new(:group, :name, :does, :body, :verb, :upload, :warm, :pause, :tls, :follow, :headers, :coded,
                         :coding, :place, :identity, :http2, :late,
                         :untried, :script, keyword_init: true) do
        # @return [Boolean] whether it keeps a CPU busy, so that no other should be tried meanwhile
        def flood? = script && group == "HTTP/2: floods"

        # @return [Boolean] whether the server is asked before the fault shows
        def asked? = place.nil?
      end

      # Bytes as a server sends them.
      module Bytes
        OK = "HTTP/1.1 200 OK\r\n"
        MEGABYTE = ("\0" * 1_048_576).freeze

        module_function

        # @return [String] an answer with these fields and this body, whatever they say of each other
        def head(*fields, body: "ok") = "#{OK}#{fields.map { |field| "#{field}\r\n" }.join}\r\n#{body}".b

        def answer(body = "ok", status: "200 OK", **headers)
          lines = { "Content-Length" => body.bytesize, **headers }.map { |name, value| "#{name}: #{value}\r\n" }
          "HTTP/1.1 #{status}\r\n#{lines.join}\r\n".b + body.b
        end
      end

      # A group of faults: extended by a module for each.
      module Group
        include Bytes

        # @return [Array<Fault>]
        def faults = @faults ||= []

        private

        def group(name) = @group = name

        # @param bytes [String, nil] sent as they are, instead of a script
        # @param rest [Hash] as Fault has it
        def add(name, does, bytes = nil, verb: :get, pause: 0, headers: {}, **rest, &script)
          script ||= ->(connection) { connection << bytes } if bytes
          faults << Fault.new(group: @group, name: name, does: does, verb: verb, pause: pause, headers: headers,
                              script: script, **rest).freeze
        end
      end
    end
  end
end
