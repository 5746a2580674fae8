# frozen_string_literal: true

require "active_support/log_subscriber"
require_relative "../log_line"
require_relative "active_support"

module Trunkline
  # Adds the log subscriber.
  module Instrument
    # Logs a line for each call to the Rails log, at the level debug, and adds to the line of each action how long its
    # calls took:
    #
    #   GET api.test/users 200 in 34 ms (connect 1, first byte 31)
    #   Completed 200 OK in 260ms (Views: 12.0ms | HTTP: 214 ms (15 calls))
    #
    # Loaded automatically in a Rails application.
    class LogSubscriber < ::ActiveSupport::LogSubscriber
      # @param event [ActiveSupport::Notifications::Event] request.trunkline
      def request(event)
        payload = event.payload
        tagged(payload[:tags]) do
          debug do
            LogLine.of(payload[:request], payload[:response] || payload[:error], event.duration / 1000,
                       payload[:attempts])
          end
        end
      end
      subscribe_log_level :request, :debug if respond_to?(:subscribe_log_level)

      private

      # The line of a future has the tags of the request that created the future.
      def tagged(tags, &block)
        here = logger.formatter.respond_to?(:current_tags) ? logger.formatter.current_tags : []
        tags.nil? || tags.empty? || here == tags ? yield : logger.tagged(*tags, &block)
      end

      # Included in the controllers of a Rails application.
      module ControllerRuntime
        # Extends the class of a controller.
        module ClassMethods
          def log_process_action(payload)
            messages = super
            calls, seconds = payload.values_at(:trunkline_calls, :trunkline_seconds)
            return messages if calls.nil? || calls.zero?

            messages << "HTTP: #{(seconds * 1000).round} ms (#{calls} #{calls == 1 ? "call" : "calls"})"
          end
        end

        # Rails extends the class that includes the module.
        def self.included(base)
          base.extend(ClassMethods)
        end

        private

        def process_action(*)
          Tally.count do |tally|
            @trunkline_tally = tally
            super
          end
        end

        def append_info_to_payload(payload)
          super
          payload[:trunkline_calls] = @trunkline_tally&.calls
          payload[:trunkline_seconds] = @trunkline_tally&.seconds
        end
      end
    end

    LogSubscriber.attach_to(:trunkline)
    ::ActiveSupport.on_load(:action_controller) { include LogSubscriber::ControllerRuntime }
  end
end
