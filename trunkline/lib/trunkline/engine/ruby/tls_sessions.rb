# frozen_string_literal: true

require_relative "limits"
require_relative "step_lock"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # TLS sessions to resume, by the keys of connections.
      class TLSSessions
        include Redacted

        # Maximum age in seconds: then a full handshake verifies the peer again, whatever the server allows.
        SECONDS = 7200
        private_constant :SECONDS

        def initialize
          @lock = StepLock.new
          @by_key = {}
        end

        # @param session [OpenSSL::SSL::Session]
        def keep(key, session)
          @lock.synchronize do
            sessions = @by_key.delete(key) || []
            sessions.shift if sessions.size == Limits::TLS_SESSIONS_PER_KEY
            @by_key[key] = sessions << session
            @by_key.delete(@by_key.first.first) if @by_key.size > Limits::TLS_SESSION_KEYS
          end
        end

        # A TLS 1.3 ticket is used once (RFC 8446, appendix C.4), a TLS 1.2 session until it expires.
        # @return [OpenSSL::SSL::Session, nil] the newest session
        def take(key)
          @lock.synchronize do
            sessions = @by_key[key] or return
            while (session = sessions.last)
              holds = alive?(session)
              return session if holds && session.to_text.include?("TLSv1.2")

              sessions.pop
              return session if holds
            end
          end
        end

        def forget(key)
          @lock.synchronize { @by_key.delete(key) }
        end

        private

        def alive?(session)
          age = Time.now - session.time
          age >= 0 && age < SECONDS && age < session.timeout
        end
      end
    end
  end
end
