# frozen_string_literal: true

require "delegate"
require "opentelemetry-instrumentation-base"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # which loads this file by itself
require_relative "opentelemetry/metrics"
require_relative "opentelemetry/spans"

module OpenTelemetry
  module Instrumentation
    # Spans, propagation and metrics of Trunkline's calls, by OpenTelemetry's stable conventions for HTTP clients
    # (docs/observability.md).
    module Trunkline
      VERSION = ::Trunkline::VERSION

      # What OpenTelemetry::SDK.configure { |c| c.use "Trunkline" } installs, and c.use_all.
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

        # Whether a call has a span of its own around those of its attempts.
        option :call_spans, default: false, validate: :boolean
        # Whether http.request.body.size is told.
        option :request_body_size, default: false, validate: :boolean
      end

      # The registry finds an instrumentation by its name; this entry is the short one.
      module ShortName
        Entry = Class.new(SimpleDelegator) { def name = "Trunkline" }
        private_constant :Entry

        # @return [Instrumentation] as the registry asks a class
        def self.instance = Entry.new(Instrumentation.instance)
      end
      ::OpenTelemetry::Instrumentation.registry.register(ShortName)

      # When OpenTelemetry::SDK.configure has been called without it, nobody else will install it.
      ::Trunkline::Instrument.at_client do
        configured = !::OpenTelemetry.tracer_provider.instance_of?(::OpenTelemetry::Internal::ProxyTracerProvider)
        Instrumentation.instance.install if configured && !Instrumentation.instance.installed?
      end
    end
  end
end
