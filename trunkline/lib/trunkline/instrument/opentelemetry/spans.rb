# frozen_string_literal: true

require_relative "../../redacted"
require_relative "attributes"

module Trunkline
  module Instrument
    module OpenTelemetry
      # The probe that creates a span for each attempt, and for each call with call_spans: true. The parent of a span is
      # the one that was current where the call was made.
      #
      # @api private
      class Spans
        include Redacted

        # State of a call: context is the parent of its attempts' spans; span is nil without call_spans: true; sent
        # counts its requests, redirects included.
        State = Struct.new(:context, :span, :sent) { include Redacted }

        # Instrumentations of the libraries that Trunkline's calls may come from.
        LIBRARIES = {
          net_http: "OpenTelemetry::Instrumentation::Net::HTTP", faraday: "OpenTelemetry::Instrumentation::Faraday"
        }.freeze
        ERROR = ::OpenTelemetry::Trace::Status.error
        private_constant :LIBRARIES, :ERROR

        # @param instrumentation [OpenTelemetry::Instrumentation::Base]
        # @param config [Hash{Symbol => Object}] options of the instrumentation
        def initialize(instrumentation, config)
          @instrumentation = instrumentation
          @call_spans = config[:call_spans]
          @body_size = config[:request_body_size]
        end

        # @return [OpenTelemetry::Context, nil] nil when another instrumentation reports the call, or tracing is off for
        #   it
        def probe_context
          context = ::OpenTelemetry::Context.current
          context unless ::OpenTelemetry::Common::Utilities.untraced?(context) || reported_by_library?
        end

        # @return [State, nil]
        def call_begins(call, context)
          return unless context
          return State.new(context, nil, 0) unless @call_spans

          request = call.request
          span = tracer.start_span(Attributes.span_name(request), with_parent: context, kind: :internal,
                                                                  attributes: Attributes.of_request(request, 0, false))
          State.new(::OpenTelemetry::Trace.context_with_span(span, parent_context: context), span, 0)
        end

        def attempt_begins(state, request, _number)
          return unless state

          attributes = Attributes.of_request(request, state.sent, @body_size)
          attributes.merge!(::OpenTelemetry::Common::HTTP::ClientContext.attributes(state.context))
          state.sent += 1
          span = tracer.start_span(Attributes.span_name(request), with_parent: state.context, kind: :client,
                                                                  attributes: attributes)
          ::OpenTelemetry.propagation.inject(
            fields = {}, context: ::OpenTelemetry::Trace.context_with_span(span, parent_context: state.context)
          )
          [span, fields]
        end

        def attempt_ends(span, record)
          finish(span, record.result) if span
        end

        def call_ends(state, result)
          finish(state.span, result) if state&.span
        end

        private

        def tracer = @instrumentation.tracer

        def reported_by_library?
          name = LIBRARIES[CallerContext.library] or return false

          ::OpenTelemetry::Instrumentation.registry.lookup(name)&.installed? || false
        end

        def finish(span, result)
          Attributes.of_result(result).each { |name, value| span.set_attribute(name, value) }
          if result.is_a?(Response)
            waited = result.timings&.gvl
            span.set_attribute("trunkline.gvl_wait", waited) if waited
            span.status = ERROR if result.status >= 400
          elsif result
            span.record_exception(result)
            span.status = ::OpenTelemetry::Trace::Status.error(result.class.name)
          end
        ensure
          span.finish
        end
      end
    end
  end
end
