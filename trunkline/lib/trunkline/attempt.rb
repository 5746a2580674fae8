# frozen_string_literal: true

module Trunkline
  # One attempt to send a request. Most calls have one; a second is made only when nothing of the first was written, or
  # when replay: :safe allows it. Frozen.
  #
  #   number   from 1
  #   reason   :first, :moved (nothing had been written on the last connection) or :replayed (replay: :safe)
  #   address  "127.0.0.1:443"; nil when no address was reached
  #   sent     :none, :partial or :all of the request
  #   error    name of the error's class; nil when the attempt got the response
  Attempt = Struct.new(:number, :reason, :address, :sent, :error) do
    # @param rows [Array<Array>] [[number, reason, address, sent, error], ...] as the engine tells them
    # @return [Array<Attempt>]
    # @api private
    def self.list(rows)
      rows.map { |row| row.is_a?(Attempt) ? row : new(*row) }.freeze
    end

    def initialize(number, reason, address, sent, error = nil)
      super(number, reason, address, sent, error&.to_s)
      freeze
    end
  end
end
