# frozen_string_literal: true

require_relative "test_edges_in_batches"
require_relative "../support/over_tls"

# Events report bytes of the socket; over TLS these are records, part of whose data OpenSSL may still buffer.
class TestEdgesInBatchesOverTLS < TestEdgesInBatches
  include OverTLS
end
