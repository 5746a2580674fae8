# frozen_string_literal: true

require_relative "external"
require_relative "store"

module Trunkline
  module Policy
    class Breaker
      # For store: a circuit breaker of the Semian gem for each origin, with Semian's options, notifications and log.
      # The resource is named "trunkline_api.test_443". Of the options of breaker: only failure: is used.
      #
      #   store = Trunkline::Policy::Breaker::Semian.new(success_threshold: 2, error_threshold: 3, error_timeout: 10)
      #   Trunkline.new(url, timeout: 5, breaker: { store: store })
      class Semian < Store
        # Semian's bulkheads block, which would delay all requests of a batch.
        BULKHEAD = %i[bulkhead tickets quota timeout].freeze
        private_constant :BULKHEAD

        # @param name [String] prefix of the resource names
        # @param options [Hash{Symbol => Object}] for Semian.register
        # @raise [InvalidRequest] when the gem is not installed, or for options of a bulkhead
        def initialize(name: "trunkline", **options)
          super("semian", "0.20")
          refused = (options.keys & BULKHEAD).first
          if refused
            raise InvalidRequest, "store: Semian: #{refused}: belongs to a bulkhead, which waits; use " \
                                  "max_connections_per_host: or concurrency:"
          end

          @name = name
          @options = options.merge(bulkhead: false, exceptions: [Failed]).freeze
          freeze
        end

        # @return [Array<Symbol>] the options of breaker: that this store uses
        def used_options = []

        # @param label [String] "host:port"
        # @return [Resource]
        def circuit(label, _options) = Resource.new(label, "#{@name}_#{label.tr(":/", "_")}", @options)

        # The resource of one origin.
        class Resource < External
          def initialize(label, name, options)
            super(label)
            @name = name
            @options = options
          end

          # @return [Hash{Symbol => Object}] state:, which is nil when Semian is disabled or fails
          def to_h(_now)
            breaker = ::Semian[@name]
            state = %i[half_open open closed].find { |one| breaker.public_send(:"#{one}?") } if breaker
            { state: breaker.nil? ? :closed : state, retry_in: nil }
          rescue StandardError => error
            raise if Interrupts.ended_by?(error)

            { state: nil, retry_in: nil }
          end

          private

          # Semian removes resources that have not been used for a long time, so a resource may have to be registered
          # again.
          def resource = ::Semian[@name] || ::Semian.register(@name, **@options)

          def guard(&request)
            resource.acquire { request.call }
          rescue ::Semian::OpenCircuitError
            raise Refused.new("Semian's circuit #{@name} is open", nil)
          end
        end
      end
    end
  end
end
