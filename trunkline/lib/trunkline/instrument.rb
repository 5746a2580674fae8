# frozen_string_literal: true

require_relative "interrupts"
require_relative "loading"
require_relative "lock"
require_relative "redacted"

module Trunkline
  # The probes that see calls: those of the whole process, such as the listeners of Trunkline.on and the instruments for
  # other libraries, and a client's own, such as its log. A probe has any of these methods:
  #
  #   wanted? -> Boolean       whether anybody listens to it now; without it, somebody does
  #   note -> Object           called in the thread that makes a call, when it is made; for what belongs to that thread
  #   call_begins(call, note) -> state
  #                            call: the Policy::Call, with #request, #began, #template; state is given to the others
  #   attempt_begins(state, request, number) -> [attempt_state, fields]
  #                            before each request; fields: nil, or a Hash of header fields to lay over it
  #   attempt_ends(attempt_state, lap)
  #                            lap: a Policy::Log::Lap; its result is a Response, an Error, or nil when it was cancelled
  #   told(state, kind, facts) of a policy: :retry, :breaker, :cache, :connection
  #   call_ends(state, result) a Response or an exception
  #
  # What a probe raises never harms a call: it is told once, through the logger.
  #
  # @api private
  module Instrument
    # The instruments that load themselves, and what says that their library is there.
    LIBRARIES = {
      active_support: "ActiveSupport::Notifications", log_subscriber: "Rails::Railtie",
      opentelemetry: "OpenTelemetry::Instrumentation::Base", sentry: "Sentry::Utils::HttpTracing",
      datadog: "Datadog::Tracing::Contrib::HTTP", new_relic: "NewRelic::Agent::HTTPClients::AbstractRequest",
      appsignal: "Appsignal::Transaction"
    }.freeze
    # What a probe's failure is. Other exceptions are how time limits and shutdowns end a thread.
    FAILURES = [StandardError, ScriptError, SecurityError, NoMemoryError, SystemStackError].freeze
    private_constant :LIBRARIES, :FAILURES

    @probes = [].freeze
    @met = {}
    @at_client = []
    @lock = Lock.new
    @failed = {}

    class << self
      # @return [Array<Object>] of the process
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

      # @return [Hash{Object => Object}, nil] what the probes note in this thread; nil without probes
      def notes
        notes = nil
        @probes.each do |probe|
          next if probe.respond_to?(:wanted?) && !probe.wanted?

          notes ||= {}.compare_by_identity
          notes[probe] = (guard(probe) { probe.note } if probe.respond_to?(:note))
        end
        notes
      end

      # Loads the instruments of libraries that are there: asked at the end of this gem's loading, and when a client is
      # made.
      # @return [void]
      def meet_libraries
        LIBRARIES.each do |name, constant|
          next if @met[name] || !Object.const_defined?(constant)

          @met[name] = true
          Loading.apart { require_relative "instrument/#{name}" }
        end
      end

      # Meets libraries, and does what instruments have left for when the first client is made.
      # @return [void]
      def client_is_made
        meet_libraries
        @at_client.shift.call until @at_client.empty?
      end

      # @yield when the next client is made
      # @return [void]
      def at_client(&block)
        @at_client << block
      end

      # Runs a probe's method.
      # @param failures [Array<Class>] of exceptions that harm no call
      # @return [Object, nil] nil when it raised
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
        nil # nor does a logger that fails harm a call
      end
    end
  end
end
