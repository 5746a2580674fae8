# frozen_string_literal: true

require "delegate"
require "opentelemetry-instrumentation-base"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "opentelemetry/metrics"
require_relative "opentelemetry/spans"

module OpenTelemetry
  module Instrumentation
    # Spans, propagation and metrics of Trunkline's calls, following OpenTelemetry's stable conventions for HTTP clients
    # (docs/observability.md).
    module Trunkline
      VERSION = ::Trunkline::VERSION

      # Installed by OpenTelemetry::SDK.configure { |c| c.use "Trunkline" }, and by c.use_all.
      class Instrumentation < Base
        instrumentation_name "OpenTelemetry::Instrumentation::Trunkline"
        instrumentation_version VERSION

        install do |config|
          spans = ::Trunkline::Instrument::OpenTelemetry::Spans.new(self, config)
          ::Trunkline::Instrument.add(spans)
          if ::OpenTelemetry.respond_to?(:meter_provider)
            ::Trunkline::Instrument.add(::Trunkline::Instrument::OpenTelemetry::Metrics.new(spans, name, version))
          end
        end

        present { true }

        # Whether a call has a span around the spans of its attempts.
        option :call_spans, default: false, validate: :boolean
        # Whether http.request.body.size is set.
        option :request_body_size, default: false, validate: :boolean
      end

      # The registry finds an instrumentation by its name. This entry adds the short name.
      module ShortName
        Entry = Class.new(SimpleDelegator) { def name = "Trunkline" }
        private_constant :Entry

        # @return [Instrumentation] the registry calls this as on an instrumentation's class
        def self.instance = Entry.new(Instrumentation.instance)
      end
      ::OpenTelemetry::Instrumentation.registry.register(ShortName)

      # Installs the instrumentation if OpenTelemetry::SDK.configure was called without it.
      ::Trunkline::Instrument.on_next_client do
        configured = !::OpenTelemetry.tracer_provider.instance_of?(::OpenTelemetry::Internal::ProxyTracerProvider)
        Instrumentation.instance.install if configured && !Instrumentation.instance.installed?
      end
    end
  end
end
