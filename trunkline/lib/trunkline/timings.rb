# frozen_string_literal: true

require_relative "headers"

module Trunkline
  # How long each phase of a call took. Frozen; seconds as Float, nil when the phase did not happen (a reused connection
  # has no resolve, connect and tls):
  #
  #   queue       until a connection was free
  #   resolve     to resolve the name
  #   connect     to make the connection
  #   tls         for the TLS handshake
  #   write       to write the request
  #   first_byte  from the written request to the response's first byte
  #   total       for the whole call
  #   gvl         from the complete answer until Ruby went on with it: while other threads had Ruby's lock. It is no
  #               part of total. Of a streamed answer: from its last bytes, also when Ruby took several turns to read
  #               them; what the bytes before them waited for Ruby is part of total. Before its end: what the bytes
  #               that came last have waited
  Timings = Struct.new(:queue, :resolve, :connect, :tls, :write, :first_byte, :total, :gvl) do
    def initialize(*)
      super
      freeze
    end

    # As a value of the field Server-Timing (W3C Server Timing), for an answer of one's own that tells what its calls
    # took: browsers' tools show it.
    #
    #   headers["server-timing"] = client.get("/users").timings.to_server_timing("users")
    #   # users-first_byte;dur=31.2, users-total;dur=33.9
    #
    # @param prefix [String, nil] before each name
    # @return [String] of the phases that happened, in milliseconds
    # @raise [InvalidRequest] for a prefix that is no token
    def to_server_timing(prefix = nil)
      prefix &&= "#{Headers.field_name(prefix, "to_server_timing")}-"
      to_h.compact.map { |phase, seconds| "#{prefix}#{phase};dur=#{(seconds * 1000).round(3)}" }.join(", ")
    end
  end
  Timings::PHASES = (Timings.members - [:gvl]).freeze
end
