# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Writes one line about a call that has ended:
  #
  #   GET api.test/users 200 in 34 ms (connect 3, first byte 31, 2 attempts)
  #   GET api.test/users 200 in 302 ms (first byte 6, waited 296 for Ruby's lock, reused)
  #   GET api.test/users failed in 5 ms: ConnectError (connecting, 3 attempts)
  #
  # Times are milliseconds. Neither queries nor credentials are written.
  #
  # @api private
  module LogLine
    # Milliseconds that a complete answer may wait for Ruby without being told.
    LOCK_MS = 1.0
    private_constant :LOCK_MS

    class << self
      # @param request [Request]
      # @param result [Response, Exception]
      # @param seconds [Float] that the call took
      # @param attempts [Integer]
      # @return [String]
      def of(request, result, seconds, attempts)
        "#{request.method} #{place(request)} #{ending(result, seconds)}#{details(result, attempts)}"
      end

      private

      def place(request) = "#{request.uri.authority}#{request.uri.path}"

      def ending(result, seconds)
        took = "in #{milliseconds(seconds)} ms"
        return "#{result.status} #{took}" if result.is_a?(Response)

        "failed #{took}: #{result.class.name.delete_prefix("Trunkline::")}"
      end

      def details(result, attempts)
        parts = result.is_a?(Response) ? of_response(result) : of_error(result)
        parts << "#{attempts} attempts" if attempts > 1
        parts << "reused" if result.is_a?(Response) && result.connection.reused?
        parts.empty? ? "" : " (#{parts.join(", ")})"
      end

      def of_response(response)
        timings = response.timings
        opening = timings.to_h.values_at(:resolve, :connect, :tls).compact
        lock = (timings.gvl || 0.0) * 1000
        [("connect #{milliseconds(opening.sum)}" unless opening.empty?),
         ("first byte #{milliseconds(timings.first_byte)}" if timings.first_byte),
         ("waited #{lock.round} for Ruby's lock" if lock >= LOCK_MS)].compact
      end

      def of_error(error)
        phase = error.phase if error.is_a?(Error)
        [(Sentence::PHASES[phase] if phase)].compact
      end

      def milliseconds(seconds) = (seconds * 1000).round
    end
  end
end
