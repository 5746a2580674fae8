# frozen_string_literal: true

require_relative "../../lock"
require_relative "outcome"
require_relative "window"

module Trunkline
  module Policy
    class Breaker
      # Decides whether requests to an origin are sent. While closed it counts failures; while open it refuses requests
      # until the cool-down is over; while half-open it admits a few requests, the probes, whose results decide the next
      # state. Safe for use by several threads; no method waits.
      #
      # Each change of state begins a new generation. The result of a request that was admitted in an earlier generation
      # is ignored, since it does not describe the present state of the origin.
      class Circuit
        # @param options [Hash{Symbol => Object}] threshold, minimum, window, cool_down, probes
        def initialize(options)
          @threshold, @minimum, @cool_down, @probes = options.values_at(:threshold, :minimum, :cool_down, :probes)
          @window = Window.new(options[:window])
          @seconds = options[:window].round(1)
          @lock = Lock.new
          @generation = 0
          @openings = 0
          @state = :closed
        end

        # Calls the block unless the circuit refuses the request.
        #
        # @param call [Call] supplies the time, and passes changes of state to the probes
        # @param request [Request]
        # @yieldreturn [Object] the result of a successful request
        # @return [Object] what the block returns
        # @raise [Refused] when the block is not called
        # @raise [Failed] from the block: the request failed. Any other exception is not counted
        def run(call, request)
          generation = admit(call, request)
          outcome = :unknown
          result = yield
          outcome = :success
          result
        rescue Failed
          outcome = :failure
          raise
        ensure
          record(generation, outcome, call, request) if generation
        end

        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Object}] state (:closed, :open or :half_open), requests and failures in the window,
        #   openings (how often the circuit has opened), opened_at (Time) and retry_in (seconds); the last two are nil
        #   while the circuit is closed
        def to_h(now)
          @lock.synchronize do
            requests, failures = @state == :closed ? @window.counts(now) : @last
            { state: state(now), requests: requests, failures: failures, openings: @openings, opened_at: @opened_at,
              retry_in: retry_in(now) }
          end
        end

        private

        # @return [Integer] the generation that the request belongs to
        def admit(call, request)
          # Most requests find the circuit closed and take no lock. The generation must be read before the state: see
          # #change.
          generation = @generation
          return generation if @state == :closed

          changing(call, request) do |now|
            take_probe_slot(now) unless @state == :closed
            @generation
          end
        end

        def take_probe_slot(now)
          begin_probes(now) if now >= @retry_at
          raise refusal(now) unless @state == :half_open && @probe_slots.positive?

          @probe_slots -= 1
        end

        # An unfinished probe occupies its slot for one cool-down at most, since it may never end: it may run in a
        # parent process.
        def begin_probes(now)
          change(:half_open)
          @retry_at = now + @cool_down
          @probe_slots = @successes_needed = @probes
        end

        def record(generation, outcome, call, request)
          return if outcome == :unknown && @state == :closed

          changing(call, request) do |now|
            next unless generation == @generation

            case @state
            when :closed then count(outcome, now)
            when :half_open then judge_probe(outcome, now)
            end
          end
        end

        # Reports a change of state after the lock is released, because a probe may call #to_h.
        # @yield [now] while the lock is held
        def changing(call, request)
          now = call.now
          before = after = nil
          result = @lock.synchronize do
            before = @state
            yield(now).tap { after = @state }
          end
          call.notify(:breaker, request: request, state: after, retry_in: retry_in(now)) unless before == after
          result
        end

        def count(outcome, now)
          @window.add(outcome == :failure, now)
          return unless outcome == :failure

          requests, failures = @window.counts(now)
          trip(now, requests, failures) if requests >= @minimum && failures >= requests * @threshold
        end

        def judge_probe(outcome, now)
          case outcome
          when :failure then trip(now, *@last)
          when :success then close if (@successes_needed -= 1).zero?
          end
          @probe_slots += 1 if outcome == :unknown
        end

        def trip(now, requests, failures)
          change(:open)
          @openings += 1
          @last = [requests, failures]
          @opened_at = Time.now
          @retry_at = now + @cool_down
        end

        def close
          change(:closed)
          @window.clear
          @opened_at = @retry_at = nil
        end

        # The order of the two assignments matters: a thread that reads @generation and then a closed state has the
        # generation of that state or an earlier one.
        def change(state)
          @state = state
          @generation += 1
        end

        # No thread changes the state when the cool-down ends, so an open circuit is reported as the next request will
        # find it.
        def state(now)
          @state == :open && now >= @retry_at ? :half_open : @state
        end

        def retry_in(now) = (at = @retry_at) && [at - now, 0.0].max

        # @return [Refused] without a backtrace, which is slow to create and never shown
        def refusal(now)
          requests, failures = @last
          left = retry_in(now)
          what = "#{failures} of #{requests} requests failed within #{@seconds} s"
          what << (@state == :half_open ? "; its probe is under way" : "; it probes in #{left.round(3)} s")
          Refused.new(what, left).tap { |refused| refused.set_backtrace([]) }
        end
      end
    end
  end
end
