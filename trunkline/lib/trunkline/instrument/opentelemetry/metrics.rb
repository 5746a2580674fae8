# frozen_string_literal: true

require_relative "../../pool_handle"
require_relative "../../redacted"
require_relative "attributes"

module Trunkline
  module Instrument
    module OpenTelemetry
      # The probe for metrics, next to Spans: http.client.request.duration, http.client.active_requests and
      # http.client.open_connections.
      #
      # @api private
      class Metrics
        include Redacted

        DURATION = "http.client.request.duration"
        # Bucket boundaries in seconds that the conventions recommend for DURATION.
        BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10].freeze
        # Values of http.connection.state, and the pool counters for them.
        STATES = { "active" => :in_use, "idle" => :idle }.freeze
        private_constant :DURATION, :BUCKETS, :STATES

        # @param spans [Spans] decides which calls are measured
        # @param name [String] of the meter
        # @param version [String]
        def initialize(spans, name, version)
          @spans = spans
          advise_buckets(name)
          meter = ::OpenTelemetry.meter_provider.meter(name, version: version)
          @duration = meter.create_histogram(DURATION, unit: "s", description: "Duration of HTTP client requests.")
          @active = meter.create_up_down_counter("http.client.active_requests", unit: "{request}",
                                                                                description: "Active HTTP requests.")
          STATES.each { |state, counter| observe_connections("#{name}.#{state}", version, state, counter) }
        end

        def probe_context = @spans.probe_context

        def call_begins(_call, context) = context && true

        def attempt_begins(measured, request, _number)
          return unless measured

          attributes = Attributes.common(request)
          @active.add(1, attributes: attributes)
          [attributes, nil]
        end

        def attempt_ends(attributes, record)
          return unless attributes

          @active.add(-1, attributes: attributes)
          attributes = attributes.merge(Attributes.of_result(record.result))
          attributes["url.template"] = record.request.template if record.request.template
          @duration.record(record.ended - record.began, attributes: attributes)
        end

        private

        # The API cannot set buckets yet, so a view of the SDK sets them.
        def advise_buckets(name)
          provider = ::OpenTelemetry.meter_provider
          return unless provider.respond_to?(:add_view)

          provider.add_view(DURATION, type: :histogram, meter_name: name, aggregation:
            ::OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: BUCKETS))
        end

        # An observable instrument of the SDK has one set of attributes, so each state has a separate meter.
        def observe_connections(name, version, state, counter)
          meter = ::OpenTelemetry.meter_provider.meter(name, version: version)
          instrument = meter.create_observable_up_down_counter(
            "http.client.open_connections", unit: "{connection}", description: "Open HTTP connections.",
                                            callback: -> { PoolHandle.pools.sum { |pool| pool.stats.fetch(counter) } }
          )
          instrument.add_attributes("http.connection.state" => state) if instrument.respond_to?(:add_attributes)
        end
      end
    end
  end
end
