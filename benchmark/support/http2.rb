# frozen_string_literal: true

require_relative "lab"
require_relative "origin"
require_relative "peer_process"

module Bench
  # Ensures that both sides of an HTTP/2 comparison speak HTTP/2.
  module HTTP2
    SPOKEN = Digest::SHA256.hexdigest("HTTP/2.0")

    module_function

    # Our client, which requires HTTP/2 (http: "h2").
    def with_ours(suite, &block)
      suite.with_ours(base: suite.origin.http2, ca_file: suite.origin.ca_file, http: "h2", &block)
    end

    # @raise [PeerProcess::Failed, Limits::Failed] when HTTP/2 is not spoken
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
