# frozen_string_literal: true

require_relative "external"
require_relative "store"

module Trunkline
  module Policy
    class Breaker
      # For store: the stoplight gem (6 or newer) keeps the state, in Redis for several processes, or in its configured
      # data store. A light is named after its origin ("api.test:443") and has the options of the breaker: threshold:,
      # window: and cool_down: (in whole seconds, rounded up), and probes:, which run one after the other. minimum: is
      # Stoplight's constant, 100.
      #
      #   system = Stoplight.register_system("http", data_store: Stoplight::DataStore::Redis.new(redis))
      #   Trunkline.new(url, timeout: 5, breaker: { store: Trunkline::Policy::Breaker::Stoplight.new(system) })
      class Stoplight < Store
        USED_OPTIONS = %i[threshold window cool_down probes].freeze

        # @param system [Stoplight::Wiring::System, nil] nil for the default system of Stoplight.configure
        # @raise [InvalidRequest] when the gem is not installed or too old
        def initialize(system = nil)
          super("stoplight", "6.0")
          @system = system || ::Stoplight
          freeze
        end

        # @return [Array<Symbol>] the options of breaker: that this store uses
        def used_options = USED_OPTIONS

        # @param label [String] "host:port"
        # @param options [Hash{Symbol => Object}]
        # @return [Light]
        def circuit(label, options) = Light.new(label, @system, options)

        # The light of one origin.
        class Light < External
          # @param system [#register]
          def initialize(label, system, options)
            super(label)
            @system = system
            @options = { traffic_control: :error_rate, threshold: options[:threshold],
                         window_size: options[:window].ceil, cool_off_time: options[:cool_down].ceil,
                         recovery_threshold: options[:probes], tracked_errors: [Failed] }.freeze
          end

          # @return [Hash{Symbol => Object}] state:, which is nil when Stoplight fails
          def to_h(_now)
            { state: STATES[light.color], retry_in: nil }
          rescue StandardError => error
            raise if Interrupts.ended_by?(error)

            { state: nil, retry_in: nil }
          end

          STATES = { green: :closed, yellow: :half_open, red: :open }.freeze
          private_constant :STATES

          private

          def light = @light ||= @system.register(@label, **@options)

          def guard(&request)
            light.run(&request)
          rescue ::Stoplight::Error::RedLight => error
            seconds = error.retry_after && [error.retry_after - Time.now, 0.0].max
            raise Refused.new("its light in Stoplight is red", seconds)
          end
        end
      end
    end
  end
end
