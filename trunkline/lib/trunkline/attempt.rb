# frozen_string_literal: true

module Trunkline
  # One attempt to send a request. Most calls have one; a second is made when nothing of the first was written, when
  # replay: :safe allows it, or by a policy. Frozen.
  #
  #   number      from 1
  #   reason      :first; :moved (nothing had been written on the last connection) or :replayed (replay: :safe); :retry
  #               or :hedge of these policies; :again when a middleware forwarded a request once more; :without_expect
  #               after a 417 (expect:)
  #   address     "127.0.0.1:443"; nil when no address was reached
  #   sent        :none, :partial or :all of the request
  #   error       name of the error's class; nil when the attempt got the response. "Cancelled" when another attempt
  #               was faster (hedge:)
  #   status      of the response; nil when there was none
  #   started_at  Time; nil when another attempt followed at once, in the same exchange (:moved, :replayed)
  #   elapsed     seconds until the response or the error; nil as started_at
  #   waited      seconds before it was sent: for a retry, a rate limit, a connection
  #   connection  the ConnectionInfo; nil when there was no response
  Attempt = Struct.new(:number, :reason, :address, :sent, :error, :status, :started_at, :elapsed, :waited,
                       :connection) do
    # @param rows [Array<Array>] [[number, reason, address, sent, error], ...] as the engine tells them
    # @param facts [Hash{Symbol => Object}] of the last
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

    # @return [Attempt] with other values of some members
    # @api private
    def with(**changes) = Attempt.new(*to_h.merge(changes).values)
  end
end
