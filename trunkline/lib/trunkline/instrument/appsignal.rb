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
      Place = Struct.new(:transaction, :fields) { include Redacted }

      # @return [Place, nil] nil outside a transaction, or when another integration reports the call
      def note
        return if !::Appsignal::Transaction.current? || PATCHES.tell_of_current?

        ::Appsignal::OpenTelemetry.inject_context(fields = {}) if SPANS
        Place.new(::Appsignal::Transaction.current, fields)
      end

      def call_begins(_call, place) = place

      def attempt_begins(place, _request, _number) = place && [place, place.fields]

      def attempt_ends(place, lap)
        return unless place

        request = lap.request
        place.transaction.record_event("request.trunkline", "#{request.method} #{request.uri.origin}", "",
                                       ((lap.ended - lap.began) * 1_000_000_000).round, **(SPANS ? span(lap) : {}))
      end

      private

      def span(lap)
        uri = lap.request.uri
        attributes = ::Appsignal::OpenTelemetry::HttpClientRequest.attributes_for(
          method: lap.request.method, scheme: uri.scheme, host: uri.host, port: uri.port, path: uri.path
        )
        status = lap.result.status if lap.result.is_a?(Response)
        attributes = attributes.merge(::Appsignal::OpenTelemetry::HttpResponse.attributes_for(status)) if status
        attributes = attributes.merge("error.type" => "cancelled") if lap.result.nil?
        { opentelemetry_kind: :client, opentelemetry_attributes: attributes,
          opentelemetry_scope: ["trunkline", VERSION] }
      end
    end

    add(AppSignal.new)
  end
end
