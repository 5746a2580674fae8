# frozen_string_literal: true

require "sentry-ruby"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "patches"
require_relative "shown"

module Trunkline
  # Adds the Sentry probe.
  module Instrument
    # Reports calls to Sentry as its integration of Net::HTTP does: a span for each attempt and a breadcrumb for each
    # response. Sends sentry-trace and baggage (docs/observability.md).
    #
    # @api private
    class Sentry
      include Redacted
      include ::Sentry::Utils::HttpTracing

      # Sentry's record_sentry_breadcrumb reads this constant.
      BREADCRUMB_CATEGORY = "http"
      PATCHES = Patches.new({ net_http: "Sentry::Net::HTTP", faraday: "Sentry::Faraday::Connection" })

      # The hub and span where a call was made, and the header fields for a call without a span.
      Place = Struct.new(:hub, :span, :fields) { include Redacted }
      # State of an attempt.
      Begun = Struct.new(:place, :span, :info) { include Redacted }

      def wanted? = ::Sentry.initialized?

      # @return [Place, nil] nil when another integration reports the call
      def note
        return if PATCHES.tell_of_current?

        hub = ::Sentry.get_current_hub
        Place.new(hub, hub.current_scope.get_span, hub.get_trace_propagation_headers)
      end

      def call_begins(_call, place) = place

      def attempt_begins(place, request, _number)
        return if place.nil? || request.uri.host == ::Sentry.configuration.dsn&.host

        span = child_of(place.span)
        info = info_of(request)
        [Begun.new(place, span, info), (fields(place, span, request) if propagate_trace?(info[:url]))]
      end

      def attempt_ends(begun, lap)
        return unless begun

        status = lap.result.status if lap.result.is_a?(Response)
        breadcrumb(begun, status) if status && record_sentry_breadcrumb?
        return unless begun.span

        set_span_info(begun.span, begun.info, status)
        begun.span.set_status(lap.result ? "internal_error" : "cancelled") unless lap.result.is_a?(Response)
        begun.span.finish
      end

      private

      def child_of(span)
        return unless ::Sentry.configuration.instrumenter == :sentry

        span&.start_child(op: "http.client", start_timestamp: ::Sentry.utc_now.to_f, origin: "auto.http.trunkline")
      end

      def info_of(request)
        info = { method: request.method, url: Shown.place(request) }
        query = filter_query_params(Shown.query(request))
        query ? info.merge(query: query) : info
      end

      # Like Sentry's set_propagation_headers, for the span of this attempt; the caller's baggage is kept.
      def fields(place, span, request)
        fields = place.fields.dup
        fields["sentry-trace"] = span.to_sentry_trace if span
        own = request.headers["baggage"]
        fields["baggage"] = "#{fields["baggage"]},#{own}" if own && fields["baggage"]
        fields
      end

      def breadcrumb(begun, status)
        begun.place.hub.add_breadcrumb(
          ::Sentry::Breadcrumb.new(level: get_level(status), category: BREADCRUMB_CATEGORY, type: "info",
                                   data: { status: status, **begun.info })
        )
      end
    end

    add(Sentry.new)
  end
end
