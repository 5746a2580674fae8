# frozen_string_literal: true

require "net/http"
require_relative "../trunkline"
require_relative "net_http/carried"
require_relative "x509_stores"

module Trunkline
  # Net::HTTP over Trunkline's shared connections, for every user of Net::HTTP in the process, and for those libraries
  # that stand on it:
  #
  #   Trunkline::NetHTTP.install!
  #
  # Requests, answers and exceptions are Net::HTTP's own (the cause of an exception is Trunkline's), in the edition of
  # net-http that is loaded. What differs: connections are shared and stay open, also for calls without start; a
  # request is never sent a second time (max_retries has no effect); a body that was cut short raises EOFError, or
  # Zlib::Error when it was compressed. A session that cannot be carried (see Settings.obstacle) is left to Net::HTTP
  # as it was, which is said once for each reason.
  module NetHTTP
    @lock = Mutex.new
    @installed = false
    @told = {}
    # Reasons are few; but some name what a caller gave.
    TOLD = 64
    private_constant :TOLD

    class << self
      # Idempotent. Sessions that were started before stay as they are.
      # @return [nil]
      def install!
        @lock.synchronize do
          plain.prepend(Carried)
          X509Stores.watch
          @installed = true
        end
        nil
      end

      # Idempotent. Sessions that were started before are carried to their end; idle connections are closed.
      # @return [nil]
      def uninstall!
        @installed = false
        Settings.close_idle
      end

      # @return [Boolean]
      def installed?
        @installed
      end

      # @return [Class] Net::HTTP itself, also while a test library has put a subclass in its place
      # @api private
      def plain
        Net::HTTP.ancestors.reverse.find { |ancestor| ancestor.is_a?(Class) && ancestor.name == "Net::HTTP" } || Net::HTTP
      end

      # Says why a session is left to Net::HTTP: once for each reason.
      # @api private
      def tell(reason)
        say_once("Net::HTTP goes its own way, without shared connections, because of #{reason}")
      end

      # @api private
      def say_once(message)
        fresh = @lock.synchronize { @told.size < TOLD && !@told.key?(message) && (@told[message] = true) }
        warn("trunkline: #{message} (said once)") if fresh
      end
    end
  end
end
