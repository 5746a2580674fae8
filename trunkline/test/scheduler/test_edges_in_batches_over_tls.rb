# frozen_string_literal: true

require_relative "test_edges_in_batches"
require_relative "../support/over_tls"

# What a poller is told of is bytes of the socket; over TLS they are records, of which OpenSSL may hold some back.
class TestEdgesInBatchesOverTLS < TestEdgesInBatches
  include OverTLS
end
