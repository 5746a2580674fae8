# frozen_string_literal: true

require "datadog"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "patches"

module Trunkline
  # Adds the Datadog probe.
  module Instrument
    # Reports calls to Datadog as its integration of Net::HTTP does: a span http.request for each attempt. Sends
    # Datadog's trace context (docs/observability.md).
    #
    # @api private
    class Datadog
      include Redacted

      Tracing = ::Datadog::Tracing
      Tags = Tracing::Metadata::Ext
      PATCHES = Patches.new({ net_http: "Datadog::Tracing::Contrib::HTTP::Instrumentation::InstanceMethods",
                              faraday: "Datadog::Tracing::Contrib::Faraday::Connection" })
      # Fields of requests that Datadog's library itself makes.
      AGENT_FIELDS = %w[datadog-meta-tracer-version dd-internal-untraced-request].freeze
      private_constant :Tracing, :Tags, :AGENT_FIELDS

      # State of an attempt: the digest of its parent, the id of its span, its start time.
      AttemptState = Struct.new(:parent, :id, :started_at) { include Redacted }

      def wanted? = Tracing.enabled?

      # @return [Datadog::Tracing::TraceDigest, nil] nil when another integration reports the call
      def probe_context
        return if PATCHES.reports_current_call?

        Tracing.active_trace&.to_digest || Tracing::TraceDigest.new(trace_id: Tracing::Utils::TraceId.next_id)
      end

      def call_begins(_call, digest) = digest

      def attempt_begins(digest, request, _number)
        return if digest.nil? || request.headers.any? { |name, _| AGENT_FIELDS.include?(name.downcase) }

        state = AttemptState.new(digest, Tracing::Utils.next_id, Time.now)
        [state, fields(state, request)]
      end

      # The span is created when the attempt is over, with the id that was sent. No span is active meanwhile, so
      # attempts may run concurrently.
      def attempt_ends(state, record)
        return unless state

        Tracing.trace("http.request", continue_from: state.parent, id: state.id, start_time: state.started_at,
                                      service: configuration(record.request)[:service_name],
                                      type: Tags::HTTP::TYPE_OUTBOUND,
                                      resource: record.request.method) do |span|
          describe(span, record.request)
          conclude(span, record)
        end
      end

      private

      def configuration(request) = ::Datadog.configuration.tracing[:http, request.uri.host]

      def fields(state, request)
        return unless configuration(request)[:distributed_tracing]

        Tracing::Contrib::HTTP.inject(state.parent.merge(span_id: state.id), fields = {})
        fields
      end

      def describe(span, request)
        uri = request.uri
        span.set_tags(Tags::TAG_KIND => Tags::SpanKind::TAG_CLIENT, Tags::TAG_COMPONENT => "trunkline",
                      Tags::TAG_OPERATION => "request", Tags::HTTP::TAG_URL => uri.path,
                      Tags::HTTP::TAG_METHOD => request.method, Tags::NET::TAG_TARGET_HOST => uri.host,
                      Tags::NET::TAG_TARGET_PORT => uri.port.to_s, Tags::TAG_PEER_HOSTNAME => uri.host)
      end

      def conclude(span, record)
        result = record.result
        return span.set_tag("trunkline.cancelled", "true") if result.nil?
        return span.set_error(result) unless result.is_a?(Response)

        span.set_tag(Tags::HTTP::TAG_STATUS_CODE, result.status.to_s)
        waited = result.timings&.gvl
        span.set_tag("trunkline.gvl_wait", waited) if waited
        return unless configuration(record.request)[:error_status_codes].include?(result.status)

        span.set_error(["HTTP #{result.status}", "HTTP #{result.status}"])
      end
    end

    add(Datadog.new)
  end
end
