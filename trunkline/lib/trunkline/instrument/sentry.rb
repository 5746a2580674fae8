# frozen_string_literal: true

require "sentry-ruby"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "patches"
require_relative "reported_url"

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
      TraceContext = Struct.new(:hub, :span, :fields) { include Redacted }
      # State of an attempt.
      AttemptState = Struct.new(:context, :span, :info) { include Redacted }

      def wanted? = ::Sentry.initialized?

      # @return [TraceContext, nil] nil when another integration reports the call
      def probe_context
        return if PATCHES.reports_current_call?

        hub = ::Sentry.get_current_hub
        TraceContext.new(hub, hub.current_scope.get_span, hub.get_trace_propagation_headers)
      end

      def call_begins(_call, context) = context

      def attempt_begins(context, request, _number)
        return if context.nil? || request.uri.host == ::Sentry.configuration.dsn&.host

        span = child_of(context.span)
        info = info_of(request)
        [AttemptState.new(context, span, info), (fields(context, span, request) if propagate_trace?(info[:url]))]
      end

      def attempt_ends(state, record)
        return unless state

        status = record.result.status if record.result.is_a?(Response)
        breadcrumb(state, status) if status && record_sentry_breadcrumb?
        return unless state.span

        set_span_info(state.span, state.info, status)
        state.span.set_status(record.result ? "internal_error" : "cancelled") unless record.result.is_a?(Response)
        state.span.finish
      end

      private

      def child_of(span)
        return unless ::Sentry.configuration.instrumenter == :sentry

        span&.start_child(op: "http.client", start_timestamp: ::Sentry.utc_now.to_f, origin: "auto.http.trunkline")
      end

      def info_of(request)
        info = { method: request.method, url: ReportedURL.without_query(request) }
        query = filter_query_params(ReportedURL.query(request))
        query ? info.merge(query: query) : info
      end

      # Like Sentry's set_propagation_headers, for the span of this attempt; the caller's baggage is kept.
      def fields(context, span, request)
        fields = context.fields.dup
        fields["sentry-trace"] = span.to_sentry_trace if span
        own = request.headers["baggage"]
        fields["baggage"] = "#{fields["baggage"]},#{own}" if own && fields["baggage"]
        fields
      end

      def breadcrumb(state, status)
        state.context.hub.add_breadcrumb(
          ::Sentry::Breadcrumb.new(level: get_level(status), category: BREADCRUMB_CATEGORY, type: "info",
                                   data: { status: status, **state.info })
        )
      end
    end

    add(Sentry.new)
  end
end
