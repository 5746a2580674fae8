# frozen_string_literal: true

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
  #               part of total; nil for an answer that is not complete
  Timings = Struct.new(:queue, :resolve, :connect, :tls, :write, :first_byte, :total, :gvl) do
    def initialize(*)
      super
      freeze
    end
  end
  Timings::PHASES = (Timings.members - [:gvl]).freeze
end
