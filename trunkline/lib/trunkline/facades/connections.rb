# frozen_string_literal: true

require_relative "../family"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  # Other libraries' APIs on Trunkline's engine. Each facade has a folder here: a request adapter, a response adapter,
  # and the mapping of options and of errors. What two facades need lies beside the folders.
  #
  # @api private
  module Facades
    # The connections of one facade. They come from the process's pool; the facade's requests share one owner number
    # there, by which the facade closes its own idle connections.
    class Connections
      include Redacted

      # For limits that the other library does not have and Trunkline does not take nil for.
      NO_LIMIT = 65_536
      # Client options without the limits that neither Net::HTTP nor libcurl has.
      UNLIMITED = { max_connections_per_host: NO_LIMIT, max_body_bytes: nil, max_decode_ratio: nil }.freeze

      def initialize
        @lock = Lock.new
      end

      # @return [Family] made at the first request
      def family
        @family || @lock.synchronize { @family ||= Family.make }
      end

      # @return [Engine::Pool]
      def pool = family.pool

      # @return [nil]
      def close_idle
        @family&.pool&.close_idle(@family.owner)
        nil
      end
    end
  end
end
