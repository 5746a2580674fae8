# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # Facts about the last connection of an exchange. Not a Struct, which JRuby creates more slowly.
      class UsedConnection
        attr_reader :id, :reused, :age, :tls_version, :cipher

        # @param connection [Connection]
        # @param reused [Boolean] whether another exchange has used it before
        # @param now [Float] monotonic seconds
        def initialize(connection, reused, now)
          @id = connection.id
          @reused = reused
          @age = now - connection.opened_at
          @tls_version = connection.io.tls_version
          @cipher = connection.io.cipher
        end
      end
    end
  end
end
