# frozen_string_literal: true

module Trunkline
  class Bulk
    # Publishes events to ActiveSupport::Notifications, if it is loaded:
    #
    #   run.trunkline_bulk    Bulk.start: bulk, run, on; at its end: state, done, failed
    #   slice.trunkline_bulk  a slice, from when it is claimed: bulk, run, slice, attempts, items; at its end: outcome
    #                         (:complete, :lost to another worker, :released), counts (by this worker)
    #   change.trunkline_bulk Bulk.pause, .resume, .cancel, .retry_failed: bulk, run, change
    #
    # @api private
    module Events
      # An event that has started and not finished.
      StartedEvent = Struct.new(:handle, :payload) do
        def finish(**more)
          payload.update(more)
          handle.finish
        end
      end

      module_function

      # @param name [String] without .trunkline_bulk
      # @return [StartedEvent, nil] nil if there is no subscriber
      def start(name, **payload)
        return unless defined?(::ActiveSupport::Notifications)

        name = "#{name}.trunkline_bulk"
        return unless ::ActiveSupport::Notifications.notifier.listening?(name)

        handle = ::ActiveSupport::Notifications.instrumenter.build_handle(name, payload)
        handle.start
        StartedEvent.new(handle, payload)
      end

      # @yield
      # @yieldreturn [RunStatus]
      def measure(name, **payload)
        event = start(name, **payload)
        status = yield
      ensure
        event&.finish(**(status ? { state: status.state, done: status.done, failed: status.failed } : {}))
      end
    end
  end
end
