# frozen_string_literal: true

require_relative "../condition"
require_relative "../engine"
require_relative "../interrupts"
require_relative "../redacted"
require_relative "../response"
require_relative "followed"
require_relative "lane"

module Trunkline
  module Many
    # Drives many requests by one poller: who may start, what becomes of an answer, who is next. It belongs to the
    # thread that calls #turn; #wake may be called from any.
    #
    # Every order that was given to it is in a lane's queue, in flight, or has been yielded with its result: what is
    # left when it is closed is returned there, so that nothing is lost.
    class Dispatcher
      include Redacted

      # Origins that are kept though nothing is sent to them.
      LANES = 256
      # Orders that may be held back in looking for others.
      LOOK_AHEAD = 512
      # Plans of those that wait are kept up to here: a bulk of requests is composed again when its turn comes.
      PLANS = 1000

      # Seconds to wait at the least: what is due in less is due.
      SHORTEST = 0.0005

      # @param pool [Engine::Pool]
      # @param settings [Settings]
      # @param requests [Requests, nil] to compose again those that waited; nil: their plans are kept, and their takers
      #   are Futures, which may have been given up by then
      def initialize(pool, settings, requests)
        @pool = pool
        @multi = nil
        @settings = settings
        @requests = requests
        @rate = settings.rate && Limiter::Rate.new(settings.rate, clock)
        @most = settings.max_in_flight
        @by_origin = { true => {}, false => {} }
        @lanes = []
        @crowded = {}.compare_by_identity
        @in_flight = 0
        # Order and result of each that is over, in a row; those from @next on have not been yielded.
        @landed = []
        @next = 0
        # One that is on its way to the engine, or from it.
        @moving = nil
        # Whether the lane of the last order is known to have room now.
        @open = false
        # When the one landed that is being yielded: what happens because of it happens then.
        @landing = nil
        @held = 0
        @bell = Condition.new
        @lock = Mutex.new
      end

      # @return [Integer]
      attr_reader :in_flight

      # @return [Boolean] whether there is nothing to do
      def idle?
        @in_flight.zero? && @held.zero?
      end

      # @return [Integer] sum of the limits of the origins that are in use
      def limit
        @lanes.sum { |lane| lane.empty? ? 0 : lane.limit }
      end

      # Takes an order in, and starts it when it may.
      def add(order)
        now = @landing || clock
        plan = order.plan
        lane = plan.equal?(@last_plan) ? @last : lane_of(plan, now)
        may = (@crowded.empty? || lane.waiting.empty?) && (@open || may_start?(lane, now))
        may ? start(order, lane, now) : queue(order, lane)
      end

      # Takes an order in, for the next #turn: its time must not run while nobody drives it.
      def hold(order)
        queue(order, lane_of(order.plan, @landing || clock))
      end

      # @return [Boolean] whether one more order, of an origin not known yet, is wanted
      def room?
        return false if @in_flight >= @most || @held >= LOOK_AHEAD

        now = @landing || clock
        return false if @rate && !@rate.ready?(now)
        return others_open?(now) unless @last&.ready?(now)

        @open = true
      end

      # Waits until something ends, and yields each order that is over, with its result.
      # @param longest [Float, nil] seconds
      # @param pulling [Boolean] whether #room? must be asked again when time alone may have changed it
      def turn(longest = nil, pulling: false)
        @open = false
        start_waiting(clock) unless @crowded.empty?
        await(longest, pulling) if @next == @landed.size
        landed = @landed
        while (at = @next) < landed.size
          order = landed[at]
          result = land(order, landed[at + 1]) or next
          @moving = nil
          yield order, result
          start_waiting(@landing) unless @crowded.empty?
        end
        forget_landed
      ensure
        @landing = nil
      end

      # @return [Boolean] whether it was there to be cancelled
      def cancel(order)
        return withdraw_waiting(order) unless (order.id && @multi.cancel(order.id)) || withdraw_landed(order)

        order.lane.dropped
        @in_flight -= 1
        true
      end

      # Ends a #turn that waits; from any thread.
      def wake
        @multi&.wake
        @lock.synchronize do
          @woken = true
          @bell.signal
        end
      end

      # Aborts what is in flight, and forgets what waits.
      # @return [Array<Order>] those that have not been yielded
      def close
        left = @multi ? @multi.close : []
        @multi = nil
        left |= landed_orders
        left |= [@moving] if @moving
        now = clock
        @lanes.each { |lane| lane.remember(now) }
        left.concat(@crowded.keys.flat_map { |lane| lane.waiting.slice!(0..) }).tap { clear }
      end

      private

      def landed_orders
        @landed.drop(@next).each_slice(2).map(&:first)
      end

      # @return [Boolean] whether it waited
      def withdraw_waiting(order) # rubocop:disable Naming/PredicateMethod -- it asks nothing
        lane = @crowded.keys.find { |one| one.waiting.delete(order) } or return false

        @crowded.delete(lane) if lane.waiting.empty?
        @held -= 1
        true
      end

      # @return [Boolean] whether it was over, though nobody knew
      def withdraw_landed(order) # rubocop:disable Naming/PredicateMethod -- it asks nothing
        at = landed_orders.index(order) or return false

        @landed.slice!(@next + at * 2, 2)
        true
      end

      def forget_landed
        @landed.clear
        @next = 0
      end

      def clear
        @crowded.clear
        forget_landed
        @in_flight = @held = 0
        @moving = nil
        @lanes = []
        @by_origin.each_value(&:clear)
        @last = @last_plan = nil
      end

      def clock
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # ---- starting ----

      def lane_of(plan, now)
        uri = plan.request.uri
        @last_plan = plan
        lane = @by_origin[uri.tls?][uri.authority] || open_lane(uri, now)
        @open &&= lane.equal?(@last)
        @last = lane
      end

      def open_lane(uri, now)
        forget_empty(now) if @lanes.size >= LANES
        lane = Lane.new(uri.origin, @settings, now)
        @lanes << lane
        @by_origin[uri.tls?][uri.authority] = lane
      end

      # Of a crawl through all the world, the origins that are done with.
      def forget_empty(now)
        gone, @lanes = @lanes.partition(&:empty?)
        gone.each { |lane| lane.remember(now) }
        @by_origin.each_value { |lanes| lanes.delete_if { |_, lane| lane.empty? } }
        @last_plan = nil
      end

      def others_open?(now)
        @lanes.empty? || @lanes.any? { |lane| lane.open?(now) }
      end

      def queue(order, lane)
        lane.waiting << order
        @crowded[lane] = true
        @held += 1
        order.plan = nil if @requests && @held > PLANS
      end

      def may_start?(lane, now)
        @in_flight < @most && lane.ready?(now) && (@rate.nil? || @rate.ready?(now))
      end

      def start(order, lane, now)
        return @moving = nil if @requests.nil? && !order.taker.claim(now)

        @open = false
        @moving = order
        lane.start(order, now)
        @in_flight += 1
        @rate&.take(now)
        @requests.compose(order) unless order.plan
        refused = first_of_several(order, now) if order.terms.several
        if refused
          @landed.push(order, refused)
        else # a Multi takes a descriptor, which those who never send need not have
          order.id = (@multi ||= Engine::Multi.new(@pool)).add(order.plan, order.deadline, order)
        end
        @moving = nil
      rescue Error, InvalidRequest => error
        not_started(order, error) # as of a call: a file of TLS that cannot be read, no descriptor
      end

      def not_started(order, error)
        raise error if Interrupts.ended_by?(error)

        @landed.push(order, named(error, order.plan))
        @moving = nil
      end

      # What kept a Multi from being made knows of no request.
      def named(error, plan)
        error.is_a?(Error) && error.request.nil? && plan ? error.retold({ request: plan.request }) : error
      end

      # @return [StandardError, nil] why nothing can be sent
      def first_of_several(order, now)
        order.began ||= now
        order.deadline ||= order.client._deadline(now)
        sign(order, order.terms)
      end

      # Puts what is to be sent in the place of what was asked for.
      # @return [StandardError, nil] what the signer raised
      def sign(order, terms)
        return if terms.auth.nil? || order.followed

        signed = Followed.new(order.plan, terms.client._redirect(terms.follow), terms.auth)
        plan = signed.first
        return plan if plan.is_a?(Exception)

        order.followed = signed
        order.plan = plan
        nil
      end

      # Where few may fly in all, the origin with the fewest goes first: one that hangs gets no more than its share.
      def start_waiting(now)
        while @held.positive? && @in_flight < @most && (@rate.nil? || @rate.ready?(now))
          lane = next_lane(now) or return
          start_next(lane, now)
        end
      end

      # @return [Lane, nil]
      def next_lane(now)
        chosen = nil
        @crowded.each_key do |lane|
          emptier = chosen.nil? || lane.in_flight < chosen.in_flight
          chosen = lane if emptier && lane.ready?(now)
        end
        chosen
      end

      def start_next(lane, now)
        order = lane.waiting.shift
        @crowded.delete(lane) if lane.waiting.empty?
        @held -= 1
        start(order, lane, now)
      end

      # ---- waiting ----

      def await(longest, pulling)
        seconds = sooner(longest, own_wait(pulling))
        return rest(seconds || Lane::STALL) if @in_flight.zero?

        @landed = @multi.run(seconds)
      end

      # Until when time alone may let something start; nil: only an end can.
      def own_wait(pulling)
        pulling &&= @held < LOOK_AHEAD
        return if @in_flight >= @most || !(pulling || @held.positive?)

        wait = start_wait(pulling ? @lanes : @crowded.each_key, clock)
        wait = sooner(wait, Lane::STALL) if pulling
        wait && [wait, SHORTEST].max
      end

      def start_wait(lanes, now)
        wait = nil
        lanes.each { |lane| wait = sooner(wait, lane.wait(now)) }
        @rate ? [wait || 0.0, @rate.wait(now)].max : wait
      end

      def sooner(one, other)
        one.nil? || (other && other < one) ? other : one
      end

      # Nothing is in flight, so the poller would not wait.
      def rest(seconds)
        @lock.synchronize do
          @bell.wait(@lock, seconds) unless @woken
          @woken = false
        end
      end

      # ---- landing ----

      # @return [Response, Error, nil] nil when it goes on
      def land(order, result)
        now = @landing = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @next += 2
        @moving = order
        @in_flight -= 1
        order.lane.landed(now, order, result)
        result = look_at(order, result, now) unless order.terms.final
        order.plan.content.release if result && order.plan&.body
        result
      end

      # @return (see #land)
      def look_at(order, result, now)
        result = order.client._refused(result) if result.is_a?(Response) && result.status == 407
        order.terms.several && order.goes_on?(result) ? follow(order, result, now) : result
      end

      # @return [Response, Error, nil] nil when it goes on
      def follow(order, result, now)
        result = spanned(order, result, now) if result.is_a?(Error)
        order.followed ||= Followed.new(order.plan, order.client._redirect(order.terms.follow))
        result = order.followed.after(result)
        return spanned(order, result, now) if result.is_a?(AnswerError)
        return result unless result.is_a?(Composer::Plan)

        go_on(order, result, now)
      rescue InvalidRequest => error
        error
      end

      # What went wrong in one exchange, told of all of them.
      def spanned(order, error, now)
        total = order.deadline - order.began if error.is_a?(TotalTimeout) && order.deadline
        error.retold({ elapsed: now - order.began, limit: total }.compact)
      end

      # @return [nil]
      def go_on(order, plan, now)
        order.plan = plan
        lane = lane_of(plan, now)
        return start(order, lane, now) if may_start?(lane, now)

        lane.waiting.unshift(order)
        @crowded[lane] = true
        @held += 1
        @moving = nil
      end
    end
  end
end
