# frozen_string_literal: true

require "net/http"
require_relative "body_source"
require_relative "options"
require_relative "response_adapter"
require_relative "session"
require_relative "warnings"

module Trunkline
  module Facades
    module NetHTTP
      # Goes before the methods of Net::HTTP: prepended to it by install!, included in PersistentHttpClient. A Net::HTTP
      # session that Trunkline runs has a Session in place of its socket; every other session is Net::HTTP's own.
      module Patch
        # Net::HTTP adds "Connection: close" to a request without #start. The request follows #start immediately, so
        # #start need not open a connection.
        def request(req, body = nil, &block)
          return super if started? || !trunkline_enabled? || !(session = trunkline_session)

          @trunkline_session = session
          start { return super }
        ensure
          @trunkline_session = nil
        end

        # Net::HTTP#get passes a block that reads the body, which would stream it; #request without one is faster.
        def get(path, initheader = nil, dest = nil, &block)
          return super if dest || block || !trunkline_enabled?

          request(Net::HTTP::Get.new(path, initheader))
        end

        # Only a socket of the session's own has the server's certificate, because Trunkline's connections are shared.
        def peer_cert
          trunkline_fall_back("peer_cert") if @socket.is_a?(Session) && use_ssl?
          super
        end

        private

        # As #get.
        def send_entity(path, data, initheader, dest, type, &block)
          return super if dest || block || !trunkline_enabled?

          request(type.new(path, initheader), data)
        end

        # Whether sessions of this object go to Trunkline: after install!, in the main Ractor.
        # PersistentHttpClient overrides it.
        def trunkline_enabled?
          Trunkline::NetHTTP.installed? && (!defined?(Ractor) || Ractor.current.equal?(Ractor.main))
        end

        # @return [Session, nil] nil, after a warning, when the session must be Net::HTTP's own
        def trunkline_session
          reason = Options.obstacle(self)
          return Session.new(self) unless reason

          Warnings.fallback(reason)
          nil
        rescue InvalidRequest => error
          Warnings.fallback(error.message)
          nil
        end

        # A session that began with a socket keeps using sockets.
        def connect
          return super if @trunkline_fallback || @socket || !trunkline_enabled?

          session = @trunkline_session
          @trunkline_session = nil
          unless session
            session = trunkline_session or return super
            session.open
          end
          @socket = session
          on_connect
        end

        # @socket is read once: another thread may finish the session meanwhile.
        def transport_request(req)
          session = @socket
          return super unless session.is_a?(Session)

          request = trunkline_build(session, req, block_given?) or return super
          response = session.perform(request)
          converted = ResponseAdapter.convert(response, req, self)
          body = BodySource.new(response, req, session)
          body.finish unless req.response_body_permitted? && converted.class.body_permitted?
          converted.reading_body(body, req.response_body_permitted?) { yield converted if block_given? }
          converted
        ensure
          response&.close # a body that was not read to its end closes the connection
        end

        # @return [Request, nil] nil when the session has become Net::HTTP's own
        def trunkline_build(session, req, streaming)
          req["connection"] ||= "close" if close_on_empty_response && !req.response_body_permitted?
          req.update_uri(address, port, use_ssl?)
          req["host"] ||= addr_port
          session.build(req, req.path, streaming)
        rescue InvalidRequest => error
          trunkline_fall_back(error.message)
          nil
        end

        # Makes the session Net::HTTP's own, with a socket.
        def trunkline_fall_back(reason)
          Warnings.fallback(reason)
          @trunkline_fallback = true
          connect # calls Net::HTTP#connect
        ensure
          @trunkline_fallback = false
        end
      end
    end
  end
end
