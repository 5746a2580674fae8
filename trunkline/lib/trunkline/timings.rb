# frozen_string_literal: true

module Trunkline
  # How long each phase of a call took: seconds as Float, nil when the phase did not happen (a reused connection
  # resolves, connects and shakes hands no more).
  class Timings
    PHASES = %i[queue resolve connect tls write first_byte total].freeze

    # @return [Float, nil] seconds waited for a connection to become free
    attr_reader :queue
    # @return [Float, nil] seconds to resolve the name
    attr_reader :resolve
    # @return [Float, nil] seconds to make the connection
    attr_reader :connect
    # @return [Float, nil] seconds of the TLS handshake
    attr_reader :tls
    # @return [Float, nil] seconds to write the request
    attr_reader :write
    # @return [Float, nil] seconds from the written request to the answer's first byte
    attr_reader :first_byte
    # @return [Float, nil] seconds of the whole call
    attr_reader :total

    def initialize(queue, resolve, connect, tls, write, first_byte, total)
      @queue = queue
      @resolve = resolve
      @connect = connect
      @tls = tls
      @write = write
      @first_byte = first_byte
      @total = total
      freeze
    end

    # @return [Hash{Symbol => Float, nil}]
    def to_h
      PHASES.to_h { |phase| [phase, public_send(phase)] }
    end
  end
end
