# frozen_string_literal: true

require "newrelic_rpm"
require "new_relic/agent/http_clients/abstract"
require_relative "../../trunkline" unless defined?(Trunkline::Instrument) # trunkline.rb loads this file, too
require_relative "reported_url"

module Trunkline
  # Adds the New Relic probe.
  module Instrument
    # Reports calls to New Relic as its instrumentation of Net::HTTP does: an external segment for each attempt. Sends
    # traceparent, tracestate and newrelic (docs/observability.md). New Relic's instrumentation of Net::HTTP reports the
    # calls that come from there, and disables tracing while they run.
    #
    # @api private
    class NewRelic
      include Redacted

      # The transaction and segment where a call was made.
      TraceContext = Struct.new(:transaction, :segment) { include Redacted }

      # The request as New Relic's agent reads it and adds header fields to it.
      class RequestAdapter < ::NewRelic::Agent::HTTPClients::AbstractRequest
        include Redacted

        # @return [Hash{String => String}] fields that New Relic has set
        attr_reader :fields

        def initialize(request)
          super()
          @request = request
          @fields = {}
        end

        def type = "Trunkline"
        def host_from_header = @request.headers["host"]
        def host = @request.uri.host
        def method = @request.method
        def uri = URI(ReportedURL.without_query(@request))
        def headers = @request.headers.to_h.merge(@fields)
        def [](name) = @fields[name] || @request.headers[name]

        def []=(name, value)
          @fields[name] = value
        end
      end

      # The response as New Relic's agent reads it.
      class ResponseAdapter < ::NewRelic::Agent::HTTPClients::AbstractResponse
        include Redacted

        def [](name) = @wrapped_response.headers[name]
        def to_hash = @wrapped_response.headers.to_h

        private

        def get_status_code = get_status_code_using(:status) # rubocop:disable Naming/AccessorMethodName
      end

      # @return [TraceContext, nil] nil outside a transaction, or when another integration reports the call
      def probe_context
        state = ::NewRelic::Agent::Tracer.state
        transaction = state.current_transaction
        TraceContext.new(transaction, transaction.current_segment) if transaction && state.tracing_enabled?
      end

      def call_begins(_call, context) = context

      def attempt_begins(context, request, _number)
        return unless context

        adapter = RequestAdapter.new(request)
        segment = ::NewRelic::Agent::Transaction::ExternalRequestSegment.new(adapter.type, adapter.uri,
                                                                             adapter.method)
        context.transaction.add_segment(segment, context.segment)
        segment.start
        segment.add_request_headers(adapter)
        [segment, adapter.fields]
      end

      def attempt_ends(segment, record)
        return unless segment

        case (result = record.result)
        when Response then segment.process_response_headers(ResponseAdapter.new(result))
        when nil then segment.add_custom_attributes("trunkline.cancelled" => true)
        else segment.notice_error(result)
        end
      ensure
        segment&.finish
      end
    end

    add(NewRelic.new)
  end
end
