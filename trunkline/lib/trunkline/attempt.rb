# frozen_string_literal: true

module Trunkline
  # One attempt to send the request of a call. Most calls have one. Another one is made when the server has not
  # processed the previous one, when replay: :safe allows it, or by a policy. Frozen.
  #
  #   number      Integer, from 1
  #   reason      why the attempt was made: :first; :moved (no byte was written on the previous connection, or its
  #               HTTP/2 server did not process the request); :replayed (replay: :safe); :retry or :hedge (by that
  #               policy); :again (a middleware forwarded the request once more); :without_expect (after a 417, expect:)
  #   address     "127.0.0.1:443"; nil when no address was reached
  #   sent        how much of the request was sent: :none, :partial or :all
  #   error       name of the error's class; nil when the attempt got a response. "Cancelled" when another attempt was
  #               faster (hedge:)
  #   status      status of the response; nil without a response
  #   started_at  Time; nil when another attempt followed at once in the same exchange (:moved, :replayed)
  #   elapsed     seconds until the response or the error; nil when started_at is nil
  #   waited      seconds before the request was sent: for a retry, a rate limit, a connection
  #   connection  the ConnectionInfo; nil without a response
  Attempt = Struct.new(:number, :reason, :address, :sent, :error, :status, :started_at, :elapsed, :waited,
                       :connection) do
    # @param rows [Array<Array>] [[number, reason, address, sent, error], ...] from the engine
    # @param facts [Hash{Symbol => Object}] the remaining members of the last attempt
    # @return [Array<Attempt>]
    # @api private
    def self.list(rows, facts = {})
      last = rows.size - 1
      rows.each_with_index.map { |row, index| make(row, index == last ? facts : {}) }.freeze
    end

    # @param rows [Array<Array>, Array<Attempt>]
    # @param elapsed [Float, nil] seconds until the failure
    # @return [Array<Attempt>]
    # @api private
    def self.of_failure(rows, elapsed)
      return rows if rows.first.is_a?(Attempt)

      list(rows, elapsed: elapsed, started_at: elapsed && (Time.now - elapsed))
    end

    # @param row [Array]
    # @return [Attempt]
    # @api private
    def self.make(row, facts)
      number, reason, address, sent, error = row
      new(number, reason, address, sent, error&.to_s,
          *facts.values_at(:status, :started_at, :elapsed, :waited, :connection))
    end

    def initialize(*)
      super
      freeze
    end

    # @return [Attempt] a copy with the given members changed
    # @api private
    def with(**changes) = Attempt.new(*to_h.merge(changes).values)
  end
end
