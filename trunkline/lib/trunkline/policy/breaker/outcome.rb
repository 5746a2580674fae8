# frozen_string_literal: true

module Trunkline
  module Policy
    class Breaker
      # Raised through a circuit's block when the request failed.
      class Failed < StandardError
        # @return [Response, Error]
        attr_reader :result

        # @param result [Response, Error]
        def initialize(result)
          super("the request failed")
          @result = result
        end
      end

      # Raised when the circuit refuses a request.
      class Refused < StandardError
        # @return [Float, nil] seconds until the circuit admits a probe
        attr_reader :retry_in

        # @param message [String] the reason, and when the circuit probes
        # @param retry_in [Float, nil]
        def initialize(message, retry_in)
          super(message)
          @retry_in = retry_in
        end
      end

      # Classifies the result of a request as a failure of the origin or not.
      module Outcome
        # Failures of the server or of the connection to it. TruncatedBody and StreamReset mean that a connection or a
        # stream broke within a response.
        FAILURES = [ConnectionError, TimeoutError, TruncatedBody, StreamReset].freeze
        # Subclasses of these with a local cause: which certificates are trusted, which egress is allowed, the caller's
        # deadline, and a connection that a fork may not use.
        LOCAL = [CertificateError, EgressRefused, DeadlineExceeded, ForkedConnection].freeze
        # Errors of a machine without free file descriptors, memory or ports.
        SHORTAGES = %i[EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL].map { |name| Errno.const_get(name)::Errno }.freeze
        # 501 and 505 refuse a single request (RFC 9110 15.6.2, 15.6.6); the server works.
        UNLIKE_FAILURES = [501, 505].freeze
        private_constant :FAILURES, :LOCAL, :SHORTAGES, :UNLIKE_FAILURES

        # @param result [Response, Error]
        # @return [Boolean] whether the result counts as a failure; the default of failure:
        def self.failure?(result)
          return result.status >= 500 && !UNLIKE_FAILURES.include?(result.status) if result.is_a?(Response)

          FAILURES.any? { |one| result.is_a?(one) } && !local?(result)
        end

        # Time spent in the queue is due to the pool or to another policy, not to the server.
        def self.local?(error)
          error.phase == :queue || SHORTAGES.include?(error.errno) || LOCAL.any? { |one| error.is_a?(one) }
        end
        private_class_method :local?
      end
    end
  end
end
