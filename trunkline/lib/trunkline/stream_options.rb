# frozen_string_literal: true

require_relative "headers"
require_relative "timeouts"

module Trunkline
  # The options of calls whose answers are streams (Streams): they come at the head, and the time for them is bounded by
  # the server's silence and not by a total.
  #
  # @api private
  module StreamOptions
    module_function

    # @param given [Hash] the caller's, of a call
    # @param timeouts [Timeouts, nil] the client's
    # @param fields [Hash{String => String}] sent unless the caller names them
    # @return [Hash]
    def of(given, timeouts, fields)
      timeout = Timeouts.of(given[:timeout] || timeouts, timeouts) if given[:timeout] || timeouts
      { follow: true, **given, headers: laid_over(fields, given[:headers]), stream: true, raise: false,
        **(timeout ? { timeout: silence(timeout) } : {}) }
    end

    # A stream has no end to wait for: what is left without a limit by a total has that one.
    def silence(timeout)
      phases = timeout.phases
      { **(timeout.total ? phases.transform_values { |seconds| seconds || timeout.total } : phases), total: nil }
    end

    # The caller's own go before ours. Their values may be callable, and are not looked at.
    def laid_over(fields, given)
      return fields if given.nil?

      names = Headers.collection(given).map { |name, _| name.to_s.tr("_", "-").downcase }
      ours = fields.reject { |name, _| names.include?(name.downcase) }
      given.is_a?(Hash) ? ours.merge(given) : given.to_a + ours.to_a
    end
  end
end
