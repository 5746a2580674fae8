# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../policy"
require_relative "../redacted"

module Trunkline
  class Scheduler
    # Runs the policies of one call among many. Policies are written for a single call, which waits for each response;
    # here they run in a fiber, which is suspended while the call waits. A Flow is the driver of its Policy::Call.
    #
    # #first and #after return the next step of the call: a Request to send, a Pause or a Race; or its result, a
    # Response or a StandardError.
    class Flow
      include Redacted

      KEY = :trunkline_flow
      private_constant :KEY

      # A step of a call: wait until a time (monotonic seconds; nil: no limit) or until the signal is set.
      Pause = Struct.new(:until, :signal)

      # A step of a call: send the request of the first record (Policy::Log::ExchangeRecord); if there is no response at
      # the time #at, send that of the record that #second returns, too. #race returns the records to the policy. With
      # streamed responses, winner is the record of the request whose head arrived first.
      Race = Struct.new(:records, :at, :second, :winner) do
        include Redacted

        # @return [Request] the one that was begun last
        def request = records.last.request
      end

      # Raised in the fiber of a cancelled call, so that its policies clean up.
      class GivenUp < Exception; end # rubocop:disable Lint/InheritException -- no policy is to rescue it

      # @return [Flow, nil] the flow that the current fiber runs
      def self.current = Thread.current[KEY]

      # @param policy [CallPolicy, #perform]
      # @param request [Request] the first request of the call
      # @param began [Float] monotonic seconds
      # @param caller_context [CallerContext, nil]
      # @param races_streams [Boolean] returned by #races_streams?
      def initialize(policy, request, began, caller_context = nil, races_streams: true)
        @races_streams = races_streams
        @suspended = false
        # Blocking: a signer may wait for I/O, and a Fiber scheduler does not know this fiber.
        @fiber = Fiber.new(blocking: true) do
          Thread.current[KEY] = self
          policy.perform(request, self, began, caller_context)
        end
      end

      # Starts the call.
      def first = resume { @fiber.resume }

      # @param result [Response, Exception, Boolean, nil] the result of the request that was returned; of a Pause,
      #   whether its signal was set; of a Race, nil
      def after(result)
        return result if result.is_a?(Exception) && !result.is_a?(StandardError) # no policy rescues it

        resume { @fiber.resume(result) }
      end

      # Ends the call before it has a result. Nothing is done for a call that has not begun, or whose fiber is running
      # the caller's code, which JRuby continues in a thread of its own when this thread is killed.
      # @return [nil]
      def give_up
        resume { @fiber.resume(GivenUp.new) } if @suspended
        nil
      rescue GivenUp, FiberError
        nil
      end

      # ---- the driver, in the fiber ----

      # @return [Response]
      # @raise [Error]
      def exchange(request, _deadline) = await(request)

      # (see Policy::ThreadDriver#pause)
      def pause(seconds, signal)
        await(Pause.new(seconds && (Engine.now + seconds), signal))
      end

      # (see Policy::ThreadDriver#races_streams?)
      def races_streams? = @races_streams

      # (see Policy::ThreadDriver#race)
      def race(record, _deadline, after, second)
        race = Race.new([record], record.began + after, second)
        await(race)
        race.records
      end

      private

      # Raises exceptions here instead of by Fiber#raise, which works only once per fiber on JRuby 9.4.
      def await(wanted)
        @suspended = true
        result = Fiber.yield(wanted)
        @suspended = false
        result.is_a?(Exception) ? raise(result) : result
      end

      def resume(&block)
        Interrupts.with_rethrow(&block)
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : error
      end
    end
  end
end
