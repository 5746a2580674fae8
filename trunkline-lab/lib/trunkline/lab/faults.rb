# frozen_string_literal: true

require_relative "faults/fault"
require_relative "faults/framing"
require_relative "faults/heads"
require_relative "faults/connections"
require_relative "faults/stalls"
require_relative "faults/codings"
require_relative "faults/redirects"
require_relative "faults/handshakes"
require_relative "faults/http2/floods"
require_relative "faults/http2/streams"
require_relative "faults/http2/heads"

module Trunkline
  module Lab
    # Faults of a server over HTTP/1.1, TLS and HTTP/2. `trunkline-lab safety` tries each client on each fault. The
    # tests of the client run the same table, and docs/safety.md is generated from it.
    module Faults
      ALL = [Framing, Heads, Connections, Stalls, Codings, Redirects, Handshakes,
             HTTP2::Floods, HTTP2::Streams, HTTP2::Heads].flat_map(&:faults).freeze
    end
  end
end
