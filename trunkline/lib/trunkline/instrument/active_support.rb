# frozen_string_literal: true

require "active_support"
require "active_support/notifications"
require_relative "../instrument"
require_relative "../redacted"
require_relative "tally"

module Trunkline
  # Reopened: an instrument.
  module Instrument
    # Tells ActiveSupport::Notifications of calls. Loads itself when ActiveSupport::Notifications is there.
    #
    #   request.trunkline     a call
    #   attempt.trunkline     one request of it
    #   connection.trunkline  a connection was opened, or could not be: told when the attempt has ended
    #
    # The payloads have
    #
    #   :request (Request), :method, :url (without userinfo and query), :template
    #   :response (Response), :status       when it ended with an answer
    #   :error, :exception, :exception_object   when it did not; the last two as Rails has them
    #   :attempts (Integer)                 of a call
    #   :number (Integer, from 1)           of an attempt
    #   :connection (ConnectionInfo), :timings  of a connection
    #   :context (Hash), :tags (Array)      what ActiveSupport::ExecutionContext and the tagged logger had where the
    #                                       call was made: futures run in another thread
    class ActiveSupport
      include Redacted

      NAMES = %w[request.trunkline attempt.trunkline connection.trunkline].freeze
      REQUEST, ATTEMPT, CONNECTION = NAMES
      # Whether this version tells those who listen.
      ALL_LISTENERS = ::ActiveSupport::Notifications::Fanout.method_defined?(:all_listeners_for)
      private_constant :REQUEST, :ATTEMPT, :CONNECTION, :ALL_LISTENERS

      # An event that has begun.
      Begun = Struct.new(:handle, :payload) do
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

      # Of a call.
      State = Struct.new(:call, :began, :note, :event) { include Redacted }

      # ---- a probe ----

      # Asked for each call: most have nobody who listens, which is told sooner than whether those who do are silenced.
      # @return [Boolean]
      def wanted?
        return true if Tally.current

        all = ::ActiveSupport::Notifications.notifier
        return false if ALL_LISTENERS && all.all_listeners_for(REQUEST).empty? &&
                        all.all_listeners_for(ATTEMPT).empty? && all.all_listeners_for(CONNECTION).empty?

        NAMES.any? { |name| all.listening?(name) }
      end

      # @return [Hash] what Rails keeps with the thread that makes the call
      def note
        { tally: Tally.current, context: context, tags: tags, thread: Thread.current }
      end

      def call_begins(call, note)
        State.new(call, call.began, note, start(REQUEST, call.request, note))
      end

      def attempt_begins(state, request, number)
        [start(ATTEMPT, request, state.note, number: number), nil]
      end

      def attempt_ends(begun, lap)
        begun&.finish(lap.result)
      end

      def told(state, kind, facts)
        return unless kind == :connection

        result = facts[:result]
        more = { connection: result.connection, timings: result.timings } if result.is_a?(Response)
        start(CONNECTION, facts[:request], state.note, **more.to_h)&.finish(result)
      end

      def call_ends(state, result)
        state.note[:tally]&.add(Engine.now - state.began)
        return unless state.event

        state.event.payload[:attempts] = state.call.tries
        state.event.finish(result)
      end

      private

      def notifier = ::ActiveSupport::Notifications.notifier

      # @return [Begun, nil] nil when nobody listens
      def start(name, request, note, **more)
        return unless notifier.listening?(name)

        payload = { request: request, method: request.method, url: request.uri.shown, template: request.template,
                    **note.slice(:context, :tags), **more }
        handle = ::ActiveSupport::Notifications.instrumenter.build_handle(name, payload)
        handle.start
        Begun.new(handle, payload)
      end

      def context
        loaded?(:ExecutionContext) ? ::ActiveSupport::ExecutionContext.to_h : {}
      end

      # What is to be loaded yet has nothing to tell.
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
