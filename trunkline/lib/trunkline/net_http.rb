# frozen_string_literal: true

require "net/http"
require_relative "../trunkline"
require_relative "facades/net_http/clients"
require_relative "facades/net_http/method_replacement"
require_relative "facades/net_http/warnings"
require_relative "facades/policies"
require_relative "facades/x509_stores"
require_relative "lock"

module Trunkline
  # Runs Net::HTTP over Trunkline's shared connections, for all code in the process that uses Net::HTTP and for the
  # libraries built on it:
  #
  #   Trunkline::NetHTTP.install!
  #
  # Requests, responses and exceptions are instances of the loaded net-http's classes; the cause of an exception is
  # Trunkline's error. Differences: connections are shared and stay open, also for calls without start; a request is
  # never sent a second time (max_retries has no effect); a truncated body raises EOFError, or Zlib::Error when it was
  # compressed. A session with a setting that Trunkline does not support uses Net::HTTP's own sockets, with one warning
  # for each such setting.
  module NetHTTP
    @lock = Lock.new
    @installed = false

    class << self
      # Replaces methods of Net::HTTP; may be called again. Sessions that were started before are not changed. If
      # another library has replaced these methods of Net::HTTP, this method warns once and leaves Net::HTTP unchanged.
      #
      #   Trunkline::NetHTTP.install!(retry: true, breaker: true)
      #
      # @param policies [Hash] as keywords, for all calls by Net::HTTP: policies:, retry:, breaker:, rate:, hedge:,
      #   coalesce:, cache:, cookies:, use: and deadline_header: (docs/policies.md); deprecations: (docs/identity.md);
      #   logger:, log:, curl: and redact: (docs/logging.md); and egress: (docs/egress.md), with which a session that
      #   Trunkline does not support raises Errno::EACCES. They replace those of an earlier call of install!
      # @return [nil]
      # @raise [InvalidRequest] for an unknown or invalid option, and with egress: if another library has replaced
      #   methods of Net::HTTP
      def install!(**policies)
        checked = Facades::Policies.check(policies, "Net::HTTP")
        @lock.synchronize do
          Facades::NetHTTP::Clients.policies = checked
          obstacle = Facades::NetHTTP::MethodReplacement.replace(plain)
          refuse_unguarded(obstacle) if obstacle && checked[:egress]
          next Facades::NetHTTP::Warnings.fallback(obstacle) if obstacle

          Facades::X509Stores.start_recording
          @installed = true
        end
        nil
      end

      # Makes later sessions use Net::HTTP's own sockets again; may be called again. Sessions that use Trunkline
      # continue to their end; idle connections are closed.
      # @return [nil]
      def uninstall!
        @installed = false
        Facades::NetHTTP::Clients.close_idle
      end

      # @return [Boolean] whether Net::HTTP uses Trunkline now
      def installed? = @installed

      # @return [Class] Net::HTTP itself, also while a test library has replaced the constant by a subclass
      # @api private
      def plain
        Net::HTTP.ancestors.reverse.find { |ancestor| ancestor.is_a?(Class) && ancestor.name == "Net::HTTP" } || Net::HTTP
      end

      private

      def refuse_unguarded(obstacle)
        raise InvalidRequest, "egress: would not hold for Net::HTTP, because of #{obstacle}"
      end
    end
  end
end
