# frozen_string_literal: true

require_relative "call_policy"
require_relative "condition"
require_relative "engine"
require_relative "interrupts"
require_relative "limiter/rate"
require_relative "lock"
require_relative "redacted"
require_relative "response"
require_relative "scheduler/call_start"
require_relative "scheduler/flow"
require_relative "scheduler/origins"
require_relative "scheduler/streamed_parts"
require_relative "scheduler/pending_request"
require_relative "scheduler/races"
require_relative "scheduler/race_steps"
require_relative "scheduler/timers"

module Trunkline
  # Runs many requests on one Engine::Multi: decides which may start, runs their policies, and yields the results. All
  # methods except #wake are for the thread that calls #run_once.
  #
  # Each request that was added waits in an OriginQueue or, for a policy, in the Timers, is in flight, or has been
  # yielded with its result. #close returns all that have not been yielded, so that an interrupt loses none.
  #
  # @api private
  class Scheduler
    include CallStart
    include StreamedParts
    include RaceSteps
    include Redacted

    # How many requests may wait while the caller is asked for requests to other origins.
    LOOK_AHEAD = 512
    # How many waiting requests stay composed, and how many of those with content: the rest are composed again when they
    # start, to save memory.
    COMPOSED = 32_768
    COMPOSED_WITH_CONTENT = 4096
    # The shortest wait in seconds.
    SHORTEST_WAIT = 0.0005

    # @param pool [Engine::Pool]
    # @param options [BatchOptions]
    # @param reader [RequestReader, nil] composes requests again; nil: all stay composed
    # @yield [pending, now] called when a request is about to start
    # @yieldreturn [Boolean] false: the request was cancelled
    def initialize(pool, options, reader = nil, &may_start)
      @pool = pool
      @multi = nil
      @reader = reader
      @may_start = may_start
      @rate = options.rate && Limiter::Rate.new(options.rate, clock)
      @max_in_flight = options.max_in_flight
      @origins = Origins.new(options)
      @backlogged = @origins.backlogged
      @found = @origins.found
      @in_flight = 0
      @timers = Timers.new { wake }
      @races = Races.new
      # Number of requests that wait in @timers, or have a result that no exchange produced and that has not been
      # yielded.
      @held = 0
      # Request, result and status in turns, as Engine::Multi#run appends them; from index @next on they have not been
      # yielded.
      @completed = []
      @next = 0
      # Requests that count as in flight, and whose calls begin before the engine runs next.
      @to_begin = []
      # The request that is being moved from a queue to the engine, or from the engine to the caller.
      @current = nil
      # The OriginQueue of the last request, and the one that room? has found ready, until a request starts.
      @last = @open = nil
      # The time at which the result that is being yielded arrived. Requests that the caller adds meanwhile start at
      # that time.
      @completed_at = nil
      @woken = false
      @wakeup = Condition.new
      @lock = Lock.new
    end

    # @return [Integer] requests in flight
    attr_reader :in_flight

    # @return [Boolean] whether no request waits or is in flight
    def idle? = @in_flight.zero? && @backlogged.empty? && @held.zero?

    # @return [Integer] sum of the limits of the origins in use
    def limit = @origins.limit

    # Adds a request, and starts it if it may start now.
    # @param pending [PendingRequest] composed
    def add(pending)
      now = @completed_at || clock
      queue = @found[pending.request.origin] || @origins.queue_for(pending)
      return start(pending, queue, now) if queue == @open

      @last = queue
      may_start = (@backlogged.empty? || queue.waiting.empty?) && room_in?(queue, now)
      may_start ? start(pending, queue, now) : enqueue(pending, queue)
    end

    # Adds a request that starts in the next #run_once: its timeout must not begin earlier.
    # @param pending [PendingRequest] composed
    def hold(pending)
      enqueue(pending, @origins.queue_for(pending))
    end

    # @return [Boolean] whether one more request may be added, to any origin
    def room? # rubocop:disable Metrics/CyclomaticComplexity, Metrics/PerceivedComplexity -- for speed
      return false if @in_flight + @held >= @max_in_flight || (!@backlogged.empty? && @origins.waiting >= LOOK_AHEAD)

      now = @completed_at || clock
      return false if @rate && !@rate.ready?(now)

      # For speed: most requests go to the origin of the previous one, and no request waits.
      last = @last
      last = nil unless last && (@backlogged.empty? ? last.ready?(now) : last.room?(now))
      @open = last
      !last.nil? || @origins.room?(now)
    end

    # Waits until a request has ended, and yields each request that has.
    #
    # @param longest [Float, nil] maximum wait in seconds
    # @param pulling [Boolean] whether the caller has more to add: then the wait also ends when #room? may have changed
    # @yield [pending, result, status] a Response or an Error; for a streamed response its parts (Engine::Multi#run),
    #   then nil or an Error; status is that of a complete response from the engine, else nil. The block may call
    #   run_once
    def run_once(longest = nil, pulling: false)
      @open = nil
      resume_due(clock) unless @timers.empty?
      start_waiting(clock) unless @backlogged.empty?
      await(longest, pulling) if @next == @completed.size
      completed = @completed
      while (at = @next) < completed.size
        pending = completed[at]
        result = completed[at + 1]
        status = completed[at + 2]
        streamed = pending.streamed
        pending = request_of_result(pending, result) if streamed
        result = handle_result(pending, result, status, streamed)
        @current = nil
        next if result.nil? && streamed != StreamBlocks::NONE

        yield pending, result, status
        start_waiting(@completed_at || clock) unless @backlogged.empty?
      end
      forget_completed
    ensure
      @completed_at = nil
    end

    # @return [Boolean] whether the request had not ended
    def cancel(pending)
      withdrawn = withdraw(pending)
      pending.flow&.give_up if withdrawn
      withdrawn
    end

    # Makes a waiting #run_once return. May be called from any thread.
    def wake
      @lock.synchronize do
        @woken = true
        @wakeup.signal
        @multi&.wake
      end
    end

    # Cancels the requests in flight, and removes those that wait.
    # @return [Array<PendingRequest>] the requests that have not been yielded
    def close
      left = @multi ? @multi.close : []
      @multi = nil
      left |= completed_requests
      left |= @to_begin
      left |= [@current] if @current
      left |= @timers.clear
      left.map! { |pending| @races.first_of(pending) || pending }.uniq!
      left.concat(@origins.close(clock)).tap { clear }.each { |pending| pending.flow&.give_up }
    end

    private

    def clear
      forget_completed
      @to_begin.clear
      @races.clear
      @in_flight = @held = 0
      @current = @last = @open = nil
    end

    def completed_requests = @completed.drop(@next).each_slice(3).map(&:first)

    # @return [Boolean] whether the request had not ended
    def withdraw(pending)
      second = @races.second_of(pending) # parts that have not been yielded may be results of the second request
      raced = end_race(pending, pending)
      return true if @origins.delete(pending)

      if @timers.delete(pending) || (pending.local_result && delete_completed(pending))
        @held -= 1
        return true
      end

      aborted = abort(pending)
      waited = delete_completed(pending)
      waited |= delete_completed(second) if second
      return raced unless waited || aborted

      end_exchange(pending)
      true
    end

    # @return [Object, nil] true if the request was in flight, or about to be
    def abort(pending) = @to_begin.delete(pending) || (pending.in_flight? && @multi&.cancel(pending.id))

    # Counts an exchange that was cancelled.
    def end_exchange(pending)
      pending.queue&.cancel
      pending.id = nil
      @in_flight -= 1
    end

    # @return [Boolean] whether the request had a result that had not been yielded
    def delete_completed(pending) # rubocop:disable Naming/PredicateMethod -- it deletes
      before = @completed.size
      while (at = completed_requests.index(pending))
        @completed.slice!(@next + at * 3, 3)
      end
      @completed.size < before
    end

    def forget_completed
      @completed.clear
      @next = 0
    end

    def clock = Engine.now

    # ---- starting ----

    def enqueue(pending, queue)
      @open = nil
      waiting = @origins.push(pending, queue)
      forget_request(pending, waiting) if waiting > COMPOSED_WITH_CONTENT && @reader
    end

    def forget_request(pending, waiting)
      pending.request = nil if waiting > COMPOSED || pending.request.content
    end

    def room_in?(queue, now)
      @in_flight < @max_in_flight && queue.ready?(now) && (@rate.nil? || @rate.ready?(now))
    end

    def start_waiting(now)
      while !@backlogged.empty? && @in_flight < @max_in_flight && (@rate.nil? || @rate.ready?(now))
        queue = @origins.next_ready(now) or return
        start(@origins.shift(queue), queue, now)
      end
    end

    def start(pending, queue, now) # rubocop:disable Metrics/CyclomaticComplexity, Metrics/PerceivedComplexity -- for speed
      @open = nil
      @current = pending
      return @current = nil unless @may_start.nil? || @may_start.call(pending, now)

      request = pending.request || @reader.compose(pending).request
      begins = pending.policy && pending.flow.nil?
      return if begins && held_back?(pending, queue, now)

      queue.start(pending, now)
      counted = @in_flight += 1
      @rate&.take(now)
      return begin_soon(pending, now) if begins

      pending.id = (@multi || open_multi).add(request, pending.deadline, pending)
      @current = nil
    rescue Error, InvalidRequest, MissingTimeout => error # as for a single call, if a TLS file cannot be read
      raise if Interrupts.ended_by?(error)

      not_started(error, pending, counted)
    end

    # Created when first needed, since it uses a file descriptor. A thread may have called #wake before: the first run
    # must not wait.
    def open_multi
      multi = Engine::Multi.new(@pool)
      @lock.synchronize do
        multi.wake if @woken
        @multi = multi
      end
    end

    # @param counted [Object, nil] true if the request counts as in flight
    # @return [nil]
    def not_started(error, pending, counted)
      return add_local_result(pending, error) unless counted

      # An Error of Engine::Multi.new has no request.
      if error.is_a?(Error) && error.request.nil? && pending.request
        error = error.with_facts({ request: pending.request })
      end
      @completed.push(pending, error, nil)
      @current = nil
    end

    # ---- waiting ----

    def await(longest, pulling)
      begin_calls unless @to_begin.empty?
      return run_engine(0) unless @next == @completed.size

      seconds = seconds_to_wait(longest, pulling)
      @in_flight.zero? ? sleep_until_woken(seconds || OriginQueue::STALL) : run_engine(seconds)
      # The wait may have ended because a request may start: it starts before the caller adds others.
      start_waiting(clock) if @completed.empty? && !@backlogged.empty?
    end

    # Calls that got a result when they began are not yielded before the other calls have been sent.
    def run_engine(seconds)
      forget_completed if @next == @completed.size # including those of an outer run_once
      @multi&.run(seconds, @completed)
    end

    # @return [Float, nil] seconds; nil: until a request has ended
    def seconds_to_wait(longest, pulling)
      seconds = seconds_to_start(pulling)
      seconds = longest if longest && (seconds.nil? || longest < seconds)
      @timers.empty? ? seconds : [seconds, @timers.wait(clock)].compact.min
    end

    # @return [Float, nil] seconds until a request may start though none has ended; nil: only the end of a request
    #   allows it
    def seconds_to_start(pulling)
      pulling &&= @origins.waiting < LOOK_AHEAD
      return if @in_flight >= @max_in_flight || !(pulling || !@backlogged.empty?)

      now = clock
      seconds = @origins.wait(now, all: pulling)
      seconds = [seconds || 0.0, @rate.wait(now)].max if @rate
      seconds = [seconds || OriginQueue::STALL, OriginQueue::STALL].min if pulling
      seconds && [seconds, SHORTEST_WAIT].max
    end

    # Engine::Multi#run does not wait while nothing is in flight.
    def sleep_until_woken(seconds)
      @lock.synchronize do
        @lock.wait(@wakeup, seconds) unless @woken
        @woken = false
      end
    end

    # ---- results ----

    # @param status [Integer, nil] status of a complete response
    # @param streamed [StreamBlocks, nil] pending.streamed
    # @return [Response, Error, String, nil] the result of the call, or a part of a streamed one; nil when the call goes
    #   on, or when a streamed one has ended
    def handle_result(pending, result, status, streamed)
      now = @completed_at = Engine.now
      @current = pending
      @next += 3
      return take_local_result(pending, result) if @held != 0 && pending.local_result

      if streamed
        return take_part(pending, result, now) if part?(result)

        result, status = final_result(streamed, result)
      end
      @in_flight -= 1
      pending.id = nil
      pending.queue&.ended(pending, result, status, now)
      pending.plain ? result : after_exchange(pending, result, now)
    end

    # @return (see #handle_result)
    def after_exchange(pending, result, now)
      result = result_of_call(pending, result, now) if pending.policy && !broken_off?(pending, result)
      pending.request&.release if result
      result
    end

    # Adds a result that did not come from the engine to those to be yielded.
    # @return [nil]
    def add_local_result(pending, result)
      pending.local_result = true
      @held += 1
      @completed.push(pending, result, nil)
      @current = nil
    end

    def take_local_result(pending, result)
      @held -= 1
      pending.local_result = false
      pending.request&.release
      result
    end

    # @return (see #handle_result)
    def result_of_call(pending, result, now)
      return end_lap(pending, result, now) if @races.first_of(pending)
      return perform_step(pending, pending.flow.after(result), now) if pending.flow

      policy = pending.policy
      if policy.repeats? && Policy::Redirect.redirect?(result)
        begin_flow(pending).first # the first step of the policies is the request that was already sent
        return perform_step(pending, pending.flow.after(result), now)
      end

      result = policy.check_proxy_response(result) if result.is_a?(Response)
      result.is_a?(Response) ? policy.result(result) : of_whole_call(pending, result)
    end

    # Performs the step that the policies of a call return.
    # @param wanted [Request, Flow::Pause, Flow::Race, Response, StandardError]
    # @return [nil]
    def perform_step(pending, wanted, now)
      case wanted
      when Request then send_next(pending, wanted, now)
      when Flow::Pause
        @held += 1
        @timers.add(pending, wanted)
        @current = nil
      when Flow::Race
        @races.add(pending, wanted)
        @timers.add(pending, wanted)
        send_next(pending, wanted.request, now)
      else add_local_result(pending, wanted)
      end
    end

    # @return [nil]
    def send_next(pending, request, now)
      pending.request = request
      queue = @origins.queue_for(pending)
      return start(pending, queue, now) if room_in?(queue, now)

      @origins.unshift(pending, queue)
      @current = nil
    end

    def resume_due(now)
      @timers.each_due(now) do |pending, wait, set|
        next begin_second(pending, now) if wait.is_a?(Flow::Race)

        @held -= 1
        @current = pending
        perform_step(pending, pending.flow.after(set), now)
      end
    end
  end
end
