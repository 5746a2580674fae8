# frozen_string_literal: true

require_relative "../engine"

module Trunkline
  class Stubs
    # A failure as the engine reports it: the error class, the phase, and how much of the request was sent.
    class Fault
      attr_reader :class_name, :phase

      def initialize(class_name, phase, sent, reason)
        @class_name = class_name
        @phase = phase
        @sent = sent
        @reason = reason
        freeze
      end

      TIMEOUTS = {
        queue: %i[QueueTimeout queue none], resolve: %i[ResolveTimeout resolve none],
        connect: %i[ConnectTimeout connect none], tls: %i[TLSTimeout tls none],
        write: %i[WriteTimeout write partial], first_byte: %i[FirstByteTimeout first_byte all],
        read: %i[ReadTimeout read all], total: %i[TotalTimeout first_byte all]
      }.transform_values { |facts| new(*facts, "the stub has a timeout here") }.freeze

      REFUSED = new(:ConnectError, :connect, :none, "no connection could be made (the stub refuses it)")
      CLOSED = new(:ConnectionClosed, :first_byte, :all, "the stub closes the connection without an answer")
      CUT = new(:TruncatedBody, :read, :all, "the stub ends the connection before the body is complete")

      # @return [Fault]
      # @raise [InvalidRequest]
      def self.timeout(phase)
        TIMEOUTS.fetch(phase) { raise InvalidRequest.of("timeout", phase, "of #{TIMEOUTS.keys.join(", ")}") }
      end

      # @param request [Request]
      # @param detail [String]
      # @return [Error]
      def error(request, detail = "")
        Engine.failure(@class_name, request: request, label: request.uri.label, phase: @phase, sent: @sent,
                                    elapsed: 0.0, attempt: 1, words: @reason, detail: detail)
      end
    end
  end
end
