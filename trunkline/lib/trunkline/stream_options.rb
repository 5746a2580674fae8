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

    # @param options [Hash] the options of the call, as the caller gave them
    # @param timeouts [Timeouts, nil] the timeouts of the client
    # @param fields [Hash{String => String}] header fields that are sent unless the caller names them
    # @return [Hash]
    def of(options, timeouts, fields)
      timeout = Timeouts.of(options[:timeout] || timeouts, timeouts) if options[:timeout] || timeouts
      { follow: true, **options, headers: merge_default_fields(fields, options[:headers]), stream: true, raise: false,
        **(timeout ? { timeout: per_phase(timeout) } : {}) }
    end

    # A stream may never end, so a total does not limit the whole call: it is the limit of each phase without one.
    def per_phase(timeout)
      phases = timeout.phases
      { **(timeout.total ? phases.transform_values { |seconds| seconds || timeout.total } : phases), total: nil }
    end

    # The caller's fields replace the defaults of the same name. Their values may be callable, and are not checked here.
    def merge_default_fields(defaults, fields)
      return defaults if fields.nil?

      names = Headers.collection(fields).map { |name, _| name.to_s.tr("_", "-").downcase }
      missing = defaults.reject { |name, _| names.include?(name.downcase) }
      fields.is_a?(Hash) ? missing.merge(fields) : fields.to_a + missing.to_a
    end
  end
end
