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
  #   note -> Object           called in the thread that makes a call, before the call begins; for state of that thread
  #   call_begins(call, note) -> state
  #                            call: the Policy::Call, with #request, #began, #template; state is passed to the methods
  #                            below
  #   attempt_begins(state, request, number) -> [attempt_state, fields]
  #                            before each request; fields: nil, or a Hash of header fields to set on the request
  #   attempt_ends(attempt_state, lap)
  #                            lap: a Policy::Log::Lap; its result is a Response, an Error, or nil if it was cancelled
  #   told(state, kind, facts) an event during the call; kind: :retry, :breaker, :cache or :connection
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
    @met = {}
    @at_client = []
    @lock = Lock.new
    @failed = {}

    class << self
      # @return [Array<Object>] the probes of the process
      attr_reader :probes

      # @return [void]
      def add(probe)
        @lock.synchronize do
          @probes = [*@probes, probe].freeze
          Surroundings.need_for(:probes)
        end
      end

      # @return [void]
      def remove(probe)
        @lock.synchronize do
          @probes = @probes.reject { |one| one.equal?(probe) }.freeze
          Surroundings.need_not_for(:probes) if @probes.empty?
        end
      end

      # @return [Hash{Object => Object}, nil] by probe, the result of its #note in this thread; nil without wanted
      #   probes
      def notes
        notes = nil
        @probes.each do |probe|
          next if probe.respond_to?(:wanted?) && !probe.wanted?

          notes ||= {}.compare_by_identity
          notes[probe] = (guard(probe) { probe.note } if probe.respond_to?(:note))
        end
        notes
      end

      # Loads the instruments whose libraries are loaded. Called at the end of this gem's loading, and whenever a client
      # is made.
      # @return [void]
      def meet_libraries
        LIBRARIES.each do |name, constant|
          next if @met[name] || !Object.const_defined?(constant)

          @met[name] = true
          Loading.apart { require_relative "instrument/#{name}" }
        end
      end

      # Loads instruments, then calls the blocks that were given to #at_client.
      # @return [void]
      def client_is_made
        meet_libraries
        @at_client.shift.call until @at_client.empty?
      end

      # @yield once, when the next client is made
      # @return [void]
      def at_client(&block)
        @at_client << block
      end

      # Runs a block that calls a probe's method, and logs the exception that it raises.
      # @param failures [Array<Class>] classes of exceptions to log; others, and interrupts, are raised
      # @return [Object, nil] the block's value; nil when it raised
      def guard(probe, failures = FAILURES)
        yield
      rescue *failures => error
        raise if Interrupts.ended_by?(error) || error.is_a?(SystemExit) || error.is_a?(SignalException)

        tell(probe, error)
      end

      private

      # @return [nil]
      def tell(probe, error)
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
