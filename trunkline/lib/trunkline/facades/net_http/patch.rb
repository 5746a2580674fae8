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
      # Methods that replace Net::HTTP's own: MethodReplacement puts them into the class, PersistentHttpClient includes
      # them. `super` calls Net::HTTP's method. A Net::HTTP session that Trunkline runs has a Session in place of its
      # socket; every other session is run by Net::HTTP itself. As in Net::HTTP, these methods call #start, #connect
      # and #request on the object, so that an agent sees the same calls.
      module Patch
        # Like Net::HTTP#request, but without the "Connection: close" that it adds to a request outside of #start.
        def request(req, body = nil, &block)
          return super if started? || !trunkline_enabled? || !(session = trunkline_session)

          @trunkline_session = session
          start { return request(req, body, &block) }
        ensure
          @trunkline_session = nil
        end

        # Net::HTTP#get passes a block, which would stream the body; #request without a block is faster.
        def get(path, initheader = nil, dest = nil, &block)
          return super if dest || block || !trunkline_enabled?

          request(Net::HTTP::Get.new(path, initheader))
        end

        # Trunkline's connections are shared, so the server's certificate is read from a socket of Net::HTTP.
        def peer_cert
          trunkline_fall_back("peer_cert") if @socket.is_a?(Session) && use_ssl?
          super
        end

        private

        # Calls #request without a block, as #get does.
        def send_entity(path, data, initheader, dest, type, &block)
          return super if dest || block || !trunkline_enabled?

          request(type.new(path, initheader), data)
        end

        # Whether sessions of this object go to Trunkline: after install!, in the main Ractor.
        # PersistentHttpClient overrides it.
        def trunkline_enabled?
          Trunkline::NetHTTP.installed? && (!defined?(Ractor) || Ractor.current.equal?(Ractor.main))
        end

        # Whether a library that intercepts Net::HTTP for tests (WebMock) sees this object's requests in Net::HTTP
        # itself.
        # PersistentHttpClient overrides it.
        def trunkline_hooked? = true

        # @return [Session, nil] nil, after a warning, when Net::HTTP must run the session itself
        def trunkline_session
          reason = Options.obstacle(self)
          return Session.new(self, hooked: trunkline_hooked?) unless reason

          trunkline_check_fallback(reason)
        rescue InvalidRequest => error
          trunkline_check_fallback(error.message)
        end

        # A session that began with Net::HTTP's own socket continues with Net::HTTP's own sockets.
        def connect
          return super if @trunkline_fallback || @socket.instance_of?(Net::BufferedIO) || !trunkline_enabled?

          session = @trunkline_session || trunkline_session or return super
          @trunkline_session = nil
          session.open
          @socket = session
          @last_communicated = nil
          on_connect
        end

        # @socket is read once, because another thread may finish the session meanwhile.
        def transport_request(req, &block)
          session = @socket
          return super unless session.is_a?(Session)

          session = trunkline_connected(session)
          return super unless session.is_a?(Session)

          request = trunkline_build(session, req, block) or return super
          trunkline_exchange(session, req, request, &block)
        end

        # As in Net::HTTP, a session whose connection has ended, or was idle for too long, calls #connect.
        # @return [Session, Net::BufferedIO]
        def trunkline_connected(session)
          expires = @last_communicated && keep_alive_timeout && (@last_communicated + keep_alive_timeout)
          expired = expires && expires < Process.clock_gettime(Process::CLOCK_MONOTONIC)
          return session unless session.closed? || expired

          session.close
          connect
          @socket
        end

        # As in Net::HTTP, a request that fails ends the session's connection.
        def trunkline_exchange(session, req, request)
          response = session.perform(request)
          converted = ResponseAdapter.convert(response, req, self)
          body = BodySource.new(response, req, session)
          body.finish unless req.response_body_permitted? && converted.class.body_permitted?
          converted.reading_body(body, req.response_body_permitted?) { yield converted if block_given? }
          @curr_http_version = converted.http_version
          @last_communicated = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          alive = keep_alive?(req, converted)
          session.trace&.line(alive ? "Conn keep-alive" : "Conn close")
          session.close unless alive
          converted
        rescue StandardError => error
          session.trace&.line("Conn close because of error #{error}")
          session.close
          raise
        ensure
          response&.close # a body that was not read to its end closes the connection
        end

        # @return [Request, nil] nil when the session has fallen back to Net::HTTP's own socket
        def trunkline_build(session, req, streaming)
          req["connection"] ||= "close" if close_on_empty_response && !req.response_body_permitted?
          req.update_uri(address, port, use_ssl?)
          req["host"] ||= addr_port
          session.build(req, req.path, !streaming.nil?)
        rescue InvalidRequest => error
          trunkline_fall_back(error.message)
          nil
        end

        # Must be called before a session uses Net::HTTP's own sockets. Raises if egress: is set, which does not
        # restrict those sockets; otherwise warns.
        # @return [nil]
        # @raise [Errno::EACCES]
        def trunkline_check_fallback(reason)
          raise Errno::EACCES, "egress: holds for Trunkline's connections alone, not with #{reason}" if Clients.guarded?

          Warnings.fallback(reason)
        end

        # Makes the session fall back to Net::HTTP's own socket.
        def trunkline_fall_back(reason)
          trunkline_check_fallback(reason)
          @trunkline_fallback = true
          connect # calls Net::HTTP#connect
        ensure
          @trunkline_fallback = false
        end
      end
    end
  end
end
