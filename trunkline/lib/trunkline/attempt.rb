# frozen_string_literal: true

module Trunkline
  # One try at sending a request. Most calls have one; a second is made only when nothing of the first was written,
  # or when replay: :safe allows it.
  class Attempt
    # @return [Integer] from 1
    attr_reader :number
    # @return [Symbol] :first, :moved (nothing had been written on the last connection) or :replayed (replay: :safe)
    attr_reader :reason
    # @return [String, nil] "127.0.0.1:443"; nil when no address was reached
    attr_reader :address
    # @return [Symbol] :none, :partial or :all of the request
    attr_reader :sent
    # @return [String, nil] name of the error's class; nil when the attempt brought the answer
    attr_reader :error

    # @param rows [Array<Array>] [[number, reason, address, sent, error], ...] as the engine tells them
    # @return [Array<Attempt>]
    # @api private
    def self.list(rows)
      rows.map { |row| row.is_a?(Attempt) ? row : new(*row) }.freeze
    end

    def initialize(number, reason, address, sent, error = nil)
      @number = number
      @reason = reason
      @address = address
      @sent = sent
      @error = error&.to_s
      freeze
    end

    # @return [Hash]
    def to_h
      { number: number, reason: reason, address: address, sent: sent, error: error }
    end

    def ==(other)
      other.is_a?(Attempt) && to_h == other.to_h
    end
    alias eql? ==

    def hash
      to_h.hash
    end
  end
end
