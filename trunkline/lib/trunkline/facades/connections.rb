# frozen_string_literal: true

require_relative "../pool_handle"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  # Other libraries' APIs on Trunkline's engine. Each facade has a folder here: a request adapter, a response adapter,
  # and the mapping of options and of errors. Code that several facades use is in the files next to the folders.
  #
  # @api private
  module Facades
    # The connections of one facade, in the process's pool. All requests of the facade have the same owner id there,
    # so that the facade can close its own idle connections only.
    class Connections
      include Redacted

      # The value for a limit that the other library does not have, if Trunkline's option does not accept nil.
      NO_LIMIT = 65_536
      # Client options without the limits that neither Net::HTTP nor libcurl has.
      UNLIMITED = { max_connections_per_host: NO_LIMIT, max_body_bytes: nil, max_decode_ratio: nil }.freeze

      def initialize
        @lock = Lock.new
      end

      # @return [PoolHandle] created at the first request
      def pool_handle
        @pool_handle || @lock.synchronize { @pool_handle ||= PoolHandle.make }
      end

      # @return [Engine::Pool]
      def pool = pool_handle.pool

      # @return [nil]
      def close_idle
        @pool_handle&.pool&.close_idle(@pool_handle.owner_id)
        nil
      end
    end
  end
end
