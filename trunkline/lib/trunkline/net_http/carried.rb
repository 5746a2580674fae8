# frozen_string_literal: true

require_relative "answer"
require_relative "session"
require_relative "settings"

module Trunkline
  module NetHTTP
    # Goes in front of Net::HTTP's own methods. A session that is carried has a Session where Net::HTTP keeps its
    # socket: that alone decides, so a session is carried as a whole or not at all.
    #
    # @api private
    module Carried
      # Without start, Net::HTTP would ask the server to close. As the request follows at once, nothing is gained by
      # connecting first.
      def request(req, body = nil, &block)
        return super if started? || !trunkline_carries? || !(session = trunkline_session)

        @trunkline_session = session
        start { return super }
      ensure
        @trunkline_session = nil
      end

      # Net::HTTP asks with a block that reads the body, though nobody wants it in pieces: that is slower.
      def get(path, initheader = nil, dest = nil, &block)
        return super if dest || block || !trunkline_carries?

        request(Net::HTTP::Get.new(path, initheader))
      end

      # A certificate is known to the socket that got it, and ours are shared.
      def peer_cert
        trunkline_step_aside("peer_cert") if @socket.is_a?(Session) && use_ssl?
        super
      end

      private

      # As #get.
      def send_entity(path, data, initheader, dest, type, &block)
        return super if dest || block || !trunkline_carries?

        request(type.new(path, initheader), data)
      end

      # Whether this object is to be carried: in the whole process, unless a subclass says otherwise; but in the main
      # Ractor alone.
      def trunkline_carries?
        NetHTTP.installed? && (!defined?(Ractor) || Ractor.current.equal?(Ractor.main))
      end

      # @return [Session, nil] nil, once that was said, when this object must be left to Net::HTTP
      def trunkline_session
        reason = Settings.obstacle(self)
        return Session.new(self) unless reason

        NetHTTP.tell(reason)
        nil
      rescue InvalidRequest => error
        NetHTTP.tell(error.message)
        nil
      end

      # What began with a socket of its own goes on with sockets.
      def connect
        return super if @trunkline_aside || @socket || !trunkline_carries?

        session = @trunkline_session
        @trunkline_session = nil
        unless session
          session = trunkline_session or return super
          session.open
        end
        @socket = session
        on_connect
      end

      # The session is asked for once: another thread may finish it meanwhile.
      def transport_request(req)
        session = @socket
        return super unless session.is_a?(Session)

        plan = trunkline_plan(session, req) or return super
        response = session.carry(plan, block_given?)
        answer = Answer.of(response, req, self)
        source = Answer::Source.new(response, req, session)
        source.finish unless req.response_body_permitted? && answer.class.body_permitted?
        answer.reading_body(source, req.response_body_permitted?) { yield answer if block_given? }
        answer
      ensure
        response&.close # whatever is left of it must not meet the next request
      end

      # @return [Composer::Plan, nil] nil when this session is Net::HTTP's from now on
      def trunkline_plan(session, req)
        req["connection"] ||= "close" if close_on_empty_response && !req.response_body_permitted?
        req.update_uri(address, port, use_ssl?)
        req["host"] ||= addr_port
        session.plan(req, req.path)
      rescue InvalidRequest => error
        trunkline_step_aside(error.message)
        nil
      end

      # From here on the session is Net::HTTP's.
      def trunkline_step_aside(reason)
        NetHTTP.tell(reason)
        @trunkline_aside = true
        connect # Net::HTTP's own
      ensure
        @trunkline_aside = false
      end
    end
  end
end
