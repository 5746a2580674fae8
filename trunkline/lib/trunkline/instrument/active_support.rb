# frozen_string_literal: true

require "active_support"
require "active_support/notifications"
require_relative "../instrument"
require_relative "../redacted"
require_relative "tally"

module Trunkline
  # Adds the ActiveSupport probe.
  module Instrument
    # Publishes calls to ActiveSupport::Notifications. Loaded automatically when ActiveSupport::Notifications is
    # defined.
    #
    #   request.trunkline     a call
    #   attempt.trunkline     one request of a call
    #   connection.trunkline  a connection was opened or failed to open; published when the attempt has ended
    #
    # The payloads have
    #
    #   :request (Request), :method, :url (without userinfo and query), :template
    #   :response (Response), :status       when there was a response
    #   :error, :exception, :exception_object   when there was none; the last two in the format of Rails
    #   :attempts (Integer)                 for a call
    #   :number (Integer, from 1)           for an attempt
    #   :connection (ConnectionInfo), :timings  for a connection
    #   :context (Hash), :tags (Array)      from ActiveSupport::ExecutionContext and the tagged logger of the thread
    #                                       that made the call, because futures run in another thread
    class ActiveSupport
      include Redacted

      NAMES = %w[request.trunkline attempt.trunkline connection.trunkline].freeze
      REQUEST, ATTEMPT, CONNECTION = NAMES
      # Whether this version of ActiveSupport can list the subscribers of an event.
      ALL_LISTENERS = ::ActiveSupport::Notifications::Fanout.method_defined?(:all_listeners_for)
      private_constant :REQUEST, :ATTEMPT, :CONNECTION, :ALL_LISTENERS

      # An event that was started and not finished.
      OpenEvent = Struct.new(:handle, :payload) do
        include Redacted

        def finish(result)
          payload.update(outcome(result))
          handle.finish
        end

        private

        def outcome(result)
          return { error: result, exception: [result.class.name, result.message], exception_object: result } if
            result.is_a?(Exception)

          result ? { response: result, status: result.status } : {}
        end
      end

      # State of a call.
      State = Struct.new(:call, :began, :context, :event) { include Redacted }

      # ---- interface of a probe ----

      # Called for each call. Most events have no subscribers, which is faster to check than whether all subscribers are
      # silenced.
      # @return [Boolean]
      def wanted?
        return true if Tally.current

        all = ::ActiveSupport::Notifications.notifier
        return false if ALL_LISTENERS && all.all_listeners_for(REQUEST).empty? &&
                        all.all_listeners_for(ATTEMPT).empty? && all.all_listeners_for(CONNECTION).empty?

        NAMES.any? { |name| all.listening?(name) }
      end

      # @return [Hash] what Rails stores in the thread that makes the call
      def probe_context
        { tally: Tally.current, context: execution_context, tags: tags, thread: Thread.current }
      end

      def call_begins(call, context)
        State.new(call, call.began, context, start(REQUEST, call.request, context))
      end

      def attempt_begins(state, request, number)
        [start(ATTEMPT, request, state.context, number: number), nil]
      end

      def attempt_ends(event, record)
        event&.finish(record.result)
      end

      def call_event(state, kind, facts)
        return unless kind == :connection

        result = facts[:result]
        more = { connection: result.connection, timings: result.timings } if result.is_a?(Response)
        start(CONNECTION, facts[:request], state.context, **more.to_h)&.finish(result)
      end

      def call_ends(state, result)
        state.context[:tally]&.add(Engine.now - state.began)
        return unless state.event

        state.event.payload[:attempts] = state.call.tries
        state.event.finish(result)
      end

      private

      def notifier = ::ActiveSupport::Notifications.notifier

      # @return [OpenEvent, nil] nil without subscribers
      def start(name, request, context, **more)
        return unless notifier.listening?(name)

        payload = { request: request, method: request.method, url: request.uri.shown, template: request.template,
                    **context.slice(:context, :tags), **more }
        handle = ::ActiveSupport::Notifications.instrumenter.build_handle(name, payload)
        handle.start
        OpenEvent.new(handle, payload)
      end

      def execution_context
        loaded?(:ExecutionContext) ? ::ActiveSupport::ExecutionContext.to_h : {}
      end

      # A constant that is not loaded yet is not in use.
      def loaded?(name)
        ::ActiveSupport.const_defined?(name) && !::ActiveSupport.autoload?(name)
      end

      def tags
        logger = ::ActiveSupport::LogSubscriber.logger if loaded?(:LogSubscriber)
        formatter = logger.formatter if logger.respond_to?(:formatter)
        formatter.respond_to?(:current_tags) ? formatter.current_tags.dup : []
      end
    end

    add(ActiveSupport.new)
  end
end
