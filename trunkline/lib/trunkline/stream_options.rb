# frozen_string_literal: true

require_relative "headers"
require_relative "timeouts"

module Trunkline
  # The options of calls whose responses are streams (see Streams). Such a call returns when the response head has
  # arrived, and the time that the server may be silent is limited instead of the total time.
  #
  # @api private
  module StreamOptions
    module_function

    # @param given [Hash] the options of the call, as the caller gave them
    # @param timeouts [Timeouts, nil] the timeouts of the client
    # @param fields [Hash{String => String}] header fields that are sent unless the caller names them
    # @return [Hash]
    def of(given, timeouts, fields)
      timeout = Timeouts.of(given[:timeout] || timeouts, timeouts) if given[:timeout] || timeouts
      { follow: true, **given, headers: laid_over(fields, given[:headers]), stream: true, raise: false,
        **(timeout ? { timeout: silence(timeout) } : {}) }
    end

    # A stream may never end, so a total does not limit the whole call: it is the limit of each phase without one.
    def silence(timeout)
      phases = timeout.phases
      { **(timeout.total ? phases.transform_values { |seconds| seconds || timeout.total } : phases), total: nil }
    end

    # The caller's fields replace those in fields. Their values may be callable, and are not checked here.
    def laid_over(fields, given)
      return fields if given.nil?

      names = Headers.collection(given).map { |name, _| name.to_s.tr("_", "-").downcase }
      ours = fields.reject { |name, _| names.include?(name.downcase) }
      given.is_a?(Hash) ? ours.merge(given) : given.to_a + ours.to_a
    end
  end
end
