# frozen_string_literal: true

require_relative "headers"

module Trunkline
  # How long each phase of a call took. Frozen; seconds as Float, nil when the phase did not happen (a reused connection
  # has no resolve, connect and tls):
  #
  #   queue       to wait until a connection was free
  #   resolve     to resolve the name
  #   connect     to make the connection
  #   tls         for the TLS handshake
  #   write       to write the request
  #   first_byte  from the written request to the response's first byte
  #   total       for the whole call
  #   gvl         from the complete response until the thread went on with it, while other threads held the GVL. Not
  #               part of total. For a streamed response: from its last bytes, even if they were read in several steps;
  #               waits of earlier bytes are part of total. While it is not complete: the wait of the bytes that came
  #               last
  Timings = Struct.new(:queue, :resolve, :connect, :tls, :write, :first_byte, :total, :gvl) do
    def initialize(*)
      super
      freeze
    end

    # Formats the times as a value of the header field Server-Timing (W3C Server Timing). An application can send it in
    # its own response to report how long its calls took; the developer tools of browsers show it.
    #
    #   headers["server-timing"] = client.get("/users").timings.to_server_timing("users")
    #   # users-first_byte;dur=31.2, users-total;dur=33.9
    #
    # @param prefix [String, nil] put before each name, with "-" between
    # @return [String] the phases that happened, in milliseconds
    # @raise [InvalidRequest] for a prefix that is not a token
    def to_server_timing(prefix = nil)
      prefix &&= "#{Headers.field_name(prefix, "to_server_timing")}-"
      to_h.compact.map { |phase, seconds| "#{prefix}#{phase};dur=#{(seconds * 1000).round(3)}" }.join(", ")
    end
  end
  Timings::PHASES = (Timings.members - [:gvl]).freeze
end
