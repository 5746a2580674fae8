# frozen_string_literal: true

require_relative "../../lock"
require_relative "outcome"
require_relative "window"

module Trunkline
  module Policy
    class Breaker
      # Whether an origin is called. While closed it counts failures; open, it refuses requests until the cool-down is
      # over; half-open, it admits a few, the probes, which decide. Safe for use by several threads; none of its methods
      # waits.
      #
      # Each change of the state begins a new generation. The result of a request that was admitted in an earlier one is
      # ignored: it tells of the past.
      class Circuit
        # @param settings [Hash{Symbol => Object}] threshold, minimum, window, cool_down, probes
        def initialize(settings)
          @threshold, @minimum, @cool_down, @probes = settings.values_at(:threshold, :minimum, :cool_down, :probes)
          @window = Window.new(settings[:window])
          @seconds = settings[:window].round(1)
          @lock = Lock.new
          @generation = 0
          @openings = 0
          @state = :closed
        end

        # Calls the block, unless the circuit is open.
        #
        # @param call [Call] gives the time, and is told of changes of the state
        # @param request [Request]
        # @yieldreturn [Object] of a request that succeeded
        # @return [Object] what the block returns
        # @raise [Refused] without a call of the block
        # @raise [Failed] from the block: the request failed. What else leaves it says nothing about the origin
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
        #   openings (how often it has opened), opened_at (Time) and retry_in (seconds); nil while it is closed
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
          # Most requests find it closed, and take no lock. The generation is read first: see #change.
          generation = @generation
          return generation if @state == :closed

          changing(call, request) do |now|
            take_place(now) unless @state == :closed
            @generation
          end
        end

        def take_place(now)
          begin_probes(now) if now >= @retry_at
          raise refusal(now) unless @state == :half_open && @places.positive?

          @places -= 1
        end

        # An unfinished probe keeps no place for longer than a cool-down: it may never end, as one of a parent process.
        def begin_probes(now)
          change(:half_open)
          @retry_at = now + @cool_down
          @places = @wanted = @probes
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

        # Tells of a change when the lock is free again: who is told may ask for the state.
        # @yield [now] with the lock
        def changing(call, request)
          now = call.now
          before = after = nil
          result = @lock.synchronize do
            before = @state
            yield(now).tap { after = @state }
          end
          call.tell(:breaker, request: request, state: after, retry_in: retry_in(now)) unless before == after
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
          when :success then close if (@wanted -= 1).zero?
          end
          @places += 1 if outcome == :unknown
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

        # Whoever reads the generation first and then :closed has the generation of that state or an earlier one.
        def change(state)
          @state = state
          @generation += 1
        end

        # Nobody asks while the cool-down passes: then it is what the next request finds.
        def state(now)
          @state == :open && now >= @retry_at ? :half_open : @state
        end

        def retry_in(now) = (at = @retry_at) && [at - now, 0.0].max

        # @return [Refused] without a backtrace, which nobody sees and which takes long to make
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
