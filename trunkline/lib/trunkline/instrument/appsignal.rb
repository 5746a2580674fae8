# frozen_string_literal: true

require "appsignal"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "patches"

module Trunkline
  # Adds the AppSignal probe.
  module Instrument
    # Reports calls to AppSignal as its integration of Net::HTTP does: an event request.trunkline for each attempt
    # (docs/observability.md).
    #
    # @api private
    class AppSignal
      include Redacted

      PATCHES = Patches.new({ net_http: "Appsignal::Integrations::NetHttpIntegration",
                              faraday: "Appsignal::Integrations::FaradayRackBuilderPatch" },
                            { faraday: "Faraday::RackBuilder" })
      # Whether events can be recorded as OpenTelemetry spans (AppSignal 5).
      SPANS = ::Appsignal::Transaction.instance_method(:record_event).parameters.include?(%i[key opentelemetry_kind])
      private_constant :SPANS

      # The transaction of a call, and its trace context as header fields.
      TraceContext = Struct.new(:transaction, :fields) { include Redacted }

      # @return [TraceContext, nil] nil outside a transaction, or when another integration reports the call
      def probe_context
        return if !::Appsignal::Transaction.current? || PATCHES.reports_current_call?

        ::Appsignal::OpenTelemetry.inject_context(fields = {}) if SPANS
        TraceContext.new(::Appsignal::Transaction.current, fields)
      end

      def call_begins(_call, context) = context

      def attempt_begins(context, _request, _number) = context && [context, context.fields]

      def attempt_ends(context, record)
        return unless context

        request = record.request
        context.transaction.record_event("request.trunkline", "#{request.method} #{request.uri.origin}", "",
                                         ((record.ended - record.began) * 1_000_000_000).round,
                                         **(SPANS ? span(record) : {}))
      end

      private

      def span(record)
        uri = record.request.uri
        attributes = ::Appsignal::OpenTelemetry::HttpClientRequest.attributes_for(
          method: record.request.method, scheme: uri.scheme, host: uri.host, port: uri.port, path: uri.path
        )
        status = record.result.status if record.result.is_a?(Response)
        attributes = attributes.merge(::Appsignal::OpenTelemetry::HttpResponse.attributes_for(status)) if status
        attributes = attributes.merge("error.type" => "cancelled") if record.result.nil?
        { opentelemetry_kind: :client, opentelemetry_attributes: attributes,
          opentelemetry_scope: ["trunkline", VERSION] }
      end
    end

    add(AppSignal.new)
  end
end
