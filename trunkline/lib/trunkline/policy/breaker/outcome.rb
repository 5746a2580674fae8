# frozen_string_literal: true

module Trunkline
  module Policy
    class Breaker
      # Leaves the block of a circuit when the request failed.
      class Failed < StandardError
        # @return [Response, Error]
        attr_reader :result

        # @param result [Response, Error]
        def initialize(result)
          super("the request failed")
          @result = result
        end
      end

      # A circuit is open.
      class Refused < StandardError
        # @return [Float, nil] seconds until it admits a probe
        attr_reader :retry_in

        # @param message [String] why, and what it waits for
        # @param retry_in [Float, nil]
        def initialize(message, retry_in)
          super(message)
          @retry_in = retry_in
        end
      end

      # Decides by a result what it says about the origin.
      module Outcome
        # Failures of the server, or of the way to it. TruncatedBody and StreamReset are connections and streams that
        # broke within an answer.
        FAILURES = [ConnectionError, TimeoutError, TruncatedBody, StreamReset].freeze
        # Of these, what is decided on this side: which certificates are trusted, where connections may go, how long the
        # caller waits in all, that a fork may not use a connection.
        OWN = [CertificateError, EgressRefused, DeadlineExceeded, ForkedConnection].freeze
        # This machine lacks descriptors, memory or ports.
        SHORTAGES = %i[EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL].map { |name| Errno.const_get(name)::Errno }.freeze
        # 501 and 505 refuse one request for what it is (RFC 9110 15.6.2, 15.6.6): the server is well.
        UNLIKE_FAILURES = [501, 505].freeze
        private_constant :FAILURES, :OWN, :SHORTAGES, :UNLIKE_FAILURES

        # @param result [Response, Error]
        # @return [Boolean] whether it counts as a failure where failure: says nothing else
        def self.failure?(result)
          return result.status >= 500 && !UNLIKE_FAILURES.include?(result.status) if result.is_a?(Response)

          FAILURES.any? { |one| result.is_a?(one) } && !own?(result)
        end

        # In the queue it was the pool, or another policy, that took the time.
        def self.own?(error)
          error.phase == :queue || SHORTAGES.include?(error.errno) || OWN.any? { |one| error.is_a?(one) }
        end
        private_class_method :own?
      end
    end
  end
end
