# frozen_string_literal: true

require_relative "lab"
require_relative "origin"
require_relative "peer_process"

module Bench
  # What is measured as HTTP/2 must be HTTP/2, on both sides of the comparison.
  module HTTP2
    SPOKEN = Digest::SHA256.hexdigest("HTTP/2.0")

    module_function

    # Our own client, insisting on it.
    def with_ours(suite, &block)
      suite.with_ours(base: suite.origin.http2, ca_file: suite.origin.ca_file, http: "h2", &block)
    end

    # @raise [PeerProcess::Failed, Limits::Failed] when it is not spoken
    def verify(suite)
      with_ours(suite) do |ours|
        spoken = ours.ask(:body_digest, path: Origin::PROTOCOL)
        raise PeerProcess::Failed, "the client does not speak HTTP/2" unless spoken == SPOKEN
      end
      curl = Limits::BareCurl.new(base: suite.origin.http2, ca_file: suite.origin.ca_file, http2: true)
      spoken = curl.probe(call: { path: Origin::PROTOCOL })[:digest]
      raise Limits::Failed, "this libcurl does not speak HTTP/2" unless spoken == SPOKEN
    end
  end
end
