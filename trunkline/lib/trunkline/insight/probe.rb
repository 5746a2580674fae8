# frozen_string_literal: true

require_relative "../redacted"
require_relative "call"
require_relative "call_site"
require_relative "outgoing"
require_relative "transaction"

module Trunkline
  module Insight
    # Adds Trunkline's calls to the collector of the fiber that makes them (see Instrument). A call that sent no
    # request, because a cache or a breaker answered it, is not added.
    #
    # @api private
    class Probe
      include Redacted

      State = Struct.new(:call, :collector, :call_site, :transaction, :began) { include Redacted }

      # @return [Boolean] whether a watch runs in this fiber
      def wanted? = !Insight.current.nil?

      def probe_context
        Outgoing.count_reported
        [Insight.current, CallSite.here, Transaction.open?]
      end

      def call_begins(call, context) = context && State.new(call, *context)

      def attempt_begins(state, _request, _number)
        state.began ||= Engine.now if state
        nil
      end

      def call_ends(state, result)
        return unless state&.began

        response = result if result.is_a?(Response)
        request = state.call.request
        state.collector.add(
          Call.new(library: "Trunkline", began: state.began, ended: Engine.now, opening: opening(response),
                   multiplexed: response&.http_version == "2", status: response&.status,
                   error: (result.class.name unless response),
                   transaction: state.transaction, place: state.call_site,
                   **request_members(request, state.call.template))
        )
      end

      private

      def request_members(request, template)
        uri = request.uri
        Call.request(request.method, [uri.scheme, uri.host, uri.port], uri.target,
                     headers: request.headers, template: template)
      end

      def opening(response)
        response&.timings.to_h.values_at(:resolve, :connect, :tls).compact.sum
      end
    end
  end
end
