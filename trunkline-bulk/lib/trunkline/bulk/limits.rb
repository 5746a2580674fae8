# frozen_string_literal: true

require_relative "limits/alone"
require_relative "limits/share"

module Trunkline
  class Bulk
    # The limits of all workers together for each origin; the store of a client's rate. While shares are used, a thread
    # fetches the shares of this process, for all origins at once, several times a second.
    #
    # When Redis cannot be reached, each process continues with its part of the limits, by the last known number of
    # workers. This is logged once, and so is its end. A Redis that lost its data knows the requests in flight again
    # after one interval.
    class Limits
      # The maximum number of origins in one call.
      MOST = 500
      # Seconds after which an unused share is removed.
      KEPT = 60
      private_constant :KEPT, :MOST

      @known = {}
      @opening = Mutex.new

      class << self
        # @param url [String, nil] of Redis; nil to limit this process alone
        # @return [Limits] the Limits of this process
        # @raise [InvalidRequest] without redis-client
        def at(url)
          @opening.synchronize { @known[[url, Process.pid]] ||= new(url && Redis.new(url)) }
        end

        # Logs, once, that limits apply to each process separately.
        # @param settings [Settings]
        # @return [void]
        def say_if_alone(settings)
          return if @said || Bulk.configuration.redis || !(settings.per_origin || settings.in_flight)

          @said = true
          say("limits: there is no Redis (Trunkline::Bulk.configure { |c| c.redis = url } or REDIS_URL): per_origin " \
              "and in_flight hold for each process alone")
        end

        # @param text [String]
        # @return [void]
        def say(text)
          logger = Bulk.configuration.logger
          logger ? logger.warn("trunkline-bulk: #{text}") : warn("trunkline-bulk: #{text}")
        end
      end

      autoload :Redis, "#{__dir__}/limits/redis"

      # @param shared [Redis, nil]
      # @param threaded [Boolean] false if the caller calls #step itself
      def initialize(shared, threaded: true)
        @shared = shared
        @threaded = threaded
        @alone = Alone.new
        @shares = {}
        @lock = Mutex.new
        @used = ConditionVariable.new
      end

      # @param most_in_flight [Integer, nil] the maximum number of requests in flight to each origin, by all workers
      # @param rates [#rate, nil] the requests per second that each origin itself asks for
      # @return [#pace] for `rate: { store: }`
      def with(most_in_flight, rates = nil) = Store.new(self, most_in_flight, rates)

      # @param origin [String]
      # @return [Share]
      # @api private
      def share(origin, per_second, most_in_flight)
        @lock.synchronize do
          run if @threaded
          @used.signal
          @shares[[origin, per_second, most_in_flight]] ||= Share.new(origin, per_second, most_in_flight)
        end
      end

      # Requests and stores the grants for all shares that are in use.
      # @param now [Float] monotonic seconds
      # @return [Float, nil] seconds until the next step; nil if no share is in use
      # @api private
      def step(now)
        shares = @lock.synchronize do
          @shares.delete_if { |(origin, *), share| now - share.used_at > KEPT && @alone.forget(origin).then { true } }
          @shares.values
        end
        shares.reject! { |share| share.idle?(now) }
        intervals = shares.each_slice(MOST).map do |some|
          grants = exchange(some.map(&:ask), now)
          some.zip(grants.grants) { |share, grant| share.take(grant, grants.interval, now) }
          grants.interval
        end
        intervals.max
      end

      private

      # The store of one client's rate: finds the Share of an origin.
      Store = Struct.new(:limits, :most_in_flight, :rates) do
        def pace(origin, per_second, _burst)
          limits.share(origin, [per_second, rates&.rate(origin)].compact.min, most_in_flight)
        end
      end

      def exchange(asks, now)
        return @alone.exchange(asks, now) if @shared.nil?

        @shared.exchange(asks).tap { |grants| reached(grants) }
      rescue *(@shared ? Redis::ERRORS : []) => error
        unreached(error)
        @alone.exchange(asks, now)
      end

      def reached(grants)
        @alone.workers = grants.workers
        Limits.say("limits: Redis is there again") if @gone
        @gone = false
      end

      def unreached(error)
        return if @gone

        @gone = true
        part = @alone.workers > 1 ? "its part of the limits, one of #{@alone.workers}" : "the limits for itself"
        Limits.say("limits: Redis cannot be reached (#{error.class}: #{error.message}): this process goes on with " \
                   "#{part}")
      end

      def run
        return if @thread&.alive?

        @thread = Thread.new do
          Thread.current.name = "trunkline bulk limits"
          loop { rest(step(now)) }
        end
      end

      def rest(seconds)
        return sleep(seconds) if seconds

        @lock.synchronize { @used.wait(@lock, 0.1) }
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
