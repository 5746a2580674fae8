# frozen_string_literal: true

require_relative "interrupts"
require_relative "loading"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # Probes observe calls: all calls of the process (the listeners of Trunkline.on, the instruments for other libraries),
  # or those of one client (its log). A probe implements any of these methods:
  #
  #   wanted? -> Boolean       whether the probe has a listener now; a probe without this method always has one
  #   probe_context -> Object  called in the thread that makes a call, before the call begins; for state of that thread
  #   call_begins(call, probe_context) -> state
  #                            call: the Policy::Call, with #request, #began, #template; state is passed to the methods
  #                            below
  #   attempt_begins(state, request, number) -> [attempt_state, fields]
  #                            before each request; fields: nil, or a Hash of header fields to set on the request
  #   attempt_ends(attempt_state, record)
  #                            record: a Policy::Log::ExchangeRecord; its result is a Response, an Error, or nil if it
  #                            was cancelled
  #   call_event(state, kind, facts)
  #                            an event during the call; kind: :retry, :breaker, :cache or :connection
  #   call_ends(state, result) result: a Response or an exception
  #
  # An exception that a probe raises does not affect the call. It is logged once.
  #
  # @api private
  module Instrument
    # Instruments that are loaded automatically, each with a constant that exists when its library is loaded.
    LIBRARIES = {
      active_support: "ActiveSupport::Notifications", log_subscriber: "Rails::Railtie",
      opentelemetry: "OpenTelemetry::Instrumentation::Base", sentry: "Sentry::Utils::HttpTracing",
      datadog: "Datadog::Tracing::Contrib::HTTP", new_relic: "NewRelic::Agent::HTTPClients::AbstractRequest",
      appsignal: "Appsignal::Transaction"
    }.freeze
    # Exceptions that count as a failure of the probe. Others are raised, because timeouts and shutdowns use them to end
    # a thread.
    FAILURES = [StandardError, ScriptError, SecurityError, NoMemoryError, SystemStackError].freeze
    private_constant :LIBRARIES, :FAILURES

    @probes = [].freeze
    @loaded = {}
    @on_next_client = [].freeze
    @lock = Lock.new
    @failed = {}

    class << self
      # @return [Array<Object>] the probes of the process
      attr_reader :probes

      # @return [void]
      def add(probe)
        @lock.synchronize do
          @probes = [*@probes, probe].freeze
          CallerContext.enable(:probes)
        end
      end

      # @return [void]
      def remove(probe)
        @lock.synchronize do
          @probes = @probes.reject { |one| one.equal?(probe) }.freeze
          CallerContext.disable(:probes) if @probes.empty?
        end
      end

      # @return [Hash{Object => Object}, nil] by probe, the result of its #probe_context in this thread; nil without
      #   wanted probes
      def probe_contexts
        contexts = nil
        @probes.each do |probe|
          next if probe.respond_to?(:wanted?) && !probe.wanted?

          contexts ||= {}.compare_by_identity
          contexts[probe] = (guard(probe) { probe.probe_context } if probe.respond_to?(:probe_context))
        end
        contexts
      end

      # Loads the instruments whose libraries are loaded. Called at the end of this gem's loading, and whenever a client
      # is made.
      # @return [void]
      def load_instruments
        LIBRARIES.each do |name, constant|
          next if @loaded[name] || !Object.const_defined?(constant)

          @loaded[name] = true
          Loading.in_thread_if_needed { require_relative "instrument/#{name}" }
        end
      end

      # Called when a client is made. Loads instruments, then calls the blocks that were given to #on_next_client.
      # @return [void]
      def client_created
        load_instruments
        return if @on_next_client.empty?

        @lock.synchronize { @on_next_client.tap { @on_next_client = [].freeze } }.each(&:call)
      end

      # @yield once, when the next client is made
      # @return [void]
      def on_next_client(&block)
        @lock.synchronize { @on_next_client = [*@on_next_client, block].freeze }
      end

      # Runs a block that calls a probe's method, and logs the exception that it raises.
      # @param failures [Array<Class>] classes of exceptions to log; others, and interrupts, are raised
      # @return [Object, nil] the block's value; nil when it raised
      def guard(probe, failures = FAILURES)
        yield
      rescue *failures => error
        raise if Interrupts.ended_by?(error) || error.is_a?(SystemExit) || error.is_a?(SignalException)

        log_failure(probe, error)
      end

      private

      # @return [nil]
      def log_failure(probe, error)
        key = [probe.class, error.class, error.backtrace&.first]
        first = @lock.synchronize { @failed.size < 64 && !@failed[key] && (@failed[key] = true) }
        return unless first

        Trunkline.logger.warn("trunkline: #{probe.class} raised #{error.class}: #{error.message} " \
                              "(#{error.backtrace&.first}); calls go on without it")
        nil
      rescue StandardError
        nil # an error of the logger must not affect the call
      end
    end
  end
end
