# frozen_string_literal: true

require_relative "redaction"

module Trunkline
  # Formats a call as one line:
  #
  #   GET api.test/users 200 in 34 ms (connect 0, first byte 31, 2 attempts, reused)
  #   GET api.test/users 200 in 302 ms (connect 0, first byte 6, waited 296 for Ruby's lock, reused)
  #   GET api.test/users ConnectTimeout in 5000 ms (3 attempts)
  #
  # All times are in milliseconds. Credentials are hidden (see Redaction).
  #
  # @api private
  module LogLine
    # The shortest wait for the GVL that is logged, in seconds.
    WAIT = 0.001
    private_constant :WAIT

    class << self
      # @param request [Request] as the caller made it
      # @param result [Response, Exception] the result of the call
      # @param duration [Float] seconds
      # @param attempts [Integer]
      # @return [String]
      def of(request, result, duration, attempts)
        outcome = result.is_a?(Response) ? result.status : name(result)
        facts = facts_of(result, attempts)
        "#{request.method} #{short_url(request)} #{outcome} in #{ms(duration)} ms" \
          "#{" (#{facts.join(", ")})" unless facts.empty?}"
      end

      private

      # @return [String] host, port and path, without the scheme
      def short_url(request) = Redaction.of(request).url(request.url).sub(%r{\A\w+://}, "")

      def name(error) = error.class.name.delete_prefix("Trunkline::")

      def facts_of(result, attempts)
        tries = ("#{attempts} attempts" if attempts > 1)
        return [tries].compact unless result.is_a?(Response)
        return ["from the cache"] if result.cache&.hit?

        timings = result.timings
        gvl = timings.gvl
        [*phases(timings), ("waited #{ms(gvl)} for Ruby's lock" if gvl && gvl >= WAIT), tries,
         ("reused" if result.connection.reused?)].compact
      end

      # A response that came over no connection has no phases.
      def phases(timings)
        return [] unless timings.first_byte

        ["connect #{ms(timings.to_h.values_at(:resolve, :connect, :tls).compact.sum)}",
         "first byte #{ms(timings.first_byte)}"]
      end

      def ms(seconds) = (seconds * 1000).round
    end
  end
end
