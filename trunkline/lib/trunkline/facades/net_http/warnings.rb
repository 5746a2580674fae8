# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Facades
    module NetHTTP
      # Warnings that are written once in a process.
      module Warnings
        # The maximum number of warnings: some contain text from the caller, so the messages are unbounded in number.
        MAX_WARNINGS = 64
        private_constant :MAX_WARNINGS

        @lock = Lock.new
        @written = {}

        class << self
          # Warns that a session uses Net::HTTP's own sockets.
          # @param reason [String]
          def fallback(reason)
            once("Net::HTTP goes its own way, without shared connections, because of #{reason}")
          end

          # @param message [String]
          def once(message)
            fresh = @lock.synchronize do
              @written.size < MAX_WARNINGS && !@written.key?(message) && (@written[message] = true)
            end
            warn("trunkline: #{message} (said once)") if fresh
          end
        end
      end
    end
  end
end
