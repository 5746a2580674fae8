# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # The part of Exchange for a server that has switched protocols: by a 101, or over HTTP/2 by a 2xx (RFC 8441).
      module Switching
        # Transfers the connection of a complete exchange whose response was 101 to the caller.
        # @return [Array(Connection, String), nil] with the bytes that followed the response
        def take_switched
          return unless @state == :done && switched?

          connection = @connection
          @connection = nil
          connection && [connection, rest_of_input]
        end

        # Transfers the stream of an exchange over HTTP/2 to the caller.
        # @yieldparam connection [Connection]
        # @yieldparam stream [HTTP2::Stream]
        def take_switched_stream
          return unless @state == :done && switched? && @connection

          call = @call
          connection = @connection
          @connection = @call = nil
          call.connection.synchronize do
            call.connection.enter(call)
            call.connection.forget(call)
            yield connection, call.stream
            connection.reading_thread(@pool).take
          end
        end

        private

        # Called when no caller has taken the connection or stream after the switch.
        def drop_switched
          stop_http2 if @call && @pid == Ruby.pid
          drop_connection
        end

        def switched?
          @request._upgrades? && !@head.nil? && (@http2 ? @head.status.between?(200, 299) : @head.status == 101)
        end
      end
    end
  end
end
