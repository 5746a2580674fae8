# frozen_string_literal: true

require_relative "../instrument"
require_relative "../redacted"

module Trunkline
  module Policy
    # The probes of one call, and their states.
    #
    # @api private
    class Watch
      include Redacted

      # @param call [Call]
      # @param contexts [Hash{Object => Object}, nil] Instrument.probe_contexts
      # @param client_probes [Array<Object>]
      # @return [Watch, nil] nil when there are no probes
      def self.of(call, contexts, client_probes)
        new(call, contexts || {}.compare_by_identity, client_probes) if contexts || !client_probes.empty?
      end

      def initialize(call, contexts, client_probes)
        @states = {}.compare_by_identity
        [*contexts.keys, *client_probes].each do |probe|
          @states[probe] = nil
          next unless probe.respond_to?(:call_begins)

          @states[probe] = Instrument.guard(probe) { probe.call_begins(call, contexts[probe]) }
        end
      end

      # @param request [Request]
      # @param number [Integer] of the attempt
      # @return [Array(Request, Hash)] the request to send, and the states of the attempt by probe
      def attempt_begins(request, number)
        fields = []
        states = {}.compare_by_identity
        each(:attempt_begins) do |probe, state|
          states[probe], more = probe.attempt_begins(state, request, number)
          fields.concat(more.to_a) if more
        end
        [fields.empty? ? request : request.with(headers: fields), states]
      end

      # @param states [Hash] returned by #attempt_begins
      # @param record [Log::ExchangeRecord]
      def attempt_ends(states, record)
        each(:attempt_ends) { |probe, _| probe.attempt_ends(states[probe], record) }
        report_connection(record)
      end

      # @param kind [Symbol] :retry, :breaker, :cache or :connection
      # @param facts [Hash{Symbol => Object}]
      def call_event(kind, facts)
        each(:call_event) { |probe, state| probe.call_event(state, kind, facts) }
      end

      # @param result [Response, Exception]
      def call_ends(result)
        each(:call_ends) { |probe, state| probe.call_ends(state, result) }
      end

      private

      def each(name)
        @states.each do |probe, state|
          Instrument.guard(probe) { yield probe, state } if probe.respond_to?(name)
        end
      end

      PHASES = %i[resolve connect tls].freeze
      private_constant :PHASES

      # Reports a connection that was opened or could not be opened.
      def report_connection(record)
        case (result = record.result)
        when Response
          call_event(:connection, request: record.request, result: result) unless result.connection.reused?
        when Error
          call_event(:connection, request: record.request, result: result) if PHASES.include?(result.phase)
        end
      end
    end
  end
end
