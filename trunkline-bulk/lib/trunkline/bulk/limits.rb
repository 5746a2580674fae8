# frozen_string_literal: true

require_relative "limits/local"
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
      SHARE_TTL = 60
      private_constant :MOST, :SHARE_TTL

      @instances = {}
      @instances_lock = Mutex.new

      class << self
        # @param url [String, nil] of Redis; nil to limit this process alone
        # @return [Limits] the Limits of this process
        # @raise [InvalidRequest] without redis-client
        def at(url)
          @instances_lock.synchronize { @instances[[url, Process.pid]] ||= new(url && Redis.new(url)) }
        end

        # Logs, once, that limits apply to each process separately.
        # @param settings [Settings]
        # @return [void]
        def warn_without_redis(settings)
          return if @warned || Bulk.configuration.redis || !(settings.per_origin || settings.in_flight)

          @warned = true
          log("limits: there is no Redis (Trunkline::Bulk.configure { |c| c.redis = url } or REDIS_URL): per_origin " \
              "and in_flight hold for each process alone")
        end

        # @param text [String]
        # @return [void]
        def log(text)
          logger = Bulk.configuration.logger
          logger ? logger.warn("trunkline-bulk: #{text}") : warn("trunkline-bulk: #{text}")
        end
      end

      autoload :Redis, "#{__dir__}/limits/redis"

      # @param redis [Redis, nil]
      # @param threaded [Boolean] false if the caller calls #step itself
      def initialize(redis, threaded: true)
        @redis = redis
        @threaded = threaded
        @local = Local.new
        @shares = {}
        @lock = Mutex.new
        @used = ConditionVariable.new
      end

      # @param max_in_flight [Integer, nil] the maximum number of requests in flight to each origin, by all workers
      # @param rates [#rate, nil] the requests per second that each origin itself asks for
      # @return [#pace] for `rate: { store: }`
      def with(max_in_flight, rates = nil) = Store.new(self, max_in_flight, rates)

      # @param origin [String]
      # @return [Share]
      # @api private
      def share(origin, per_second, max_in_flight)
        @lock.synchronize do
          run if @threaded
          @used.signal
          @shares[[origin, per_second, max_in_flight]] ||= Share.new(origin, per_second, max_in_flight)
        end
      end

      # Requests and stores the grants for all shares that are in use.
      # @param now [Float] monotonic seconds
      # @return [Float, nil] seconds until the next step; nil if no share is in use
      # @api private
      def step(now)
        shares = @lock.synchronize do
          @shares.delete_if do |(origin, *), share|
            now - share.used_at > SHARE_TTL && @local.forget(origin).then { true }
          end
          @shares.values
        end
        shares.reject! { |share| share.idle?(now) }
        intervals = shares.each_slice(MOST).map do |some|
          grants = exchange(some.map(&:demand), now)
          some.zip(grants.grants) { |share, grant| share.apply(grant, grants.interval, now) }
          grants.interval
        end
        intervals.max
      end

      private

      # The store of one client's rate: finds the Share of an origin.
      Store = Struct.new(:limits, :max_in_flight, :rates) do
        def pace(origin, per_second, _burst)
          limits.share(origin, [per_second, rates&.rate(origin)].compact.min, max_in_flight)
        end
      end

      def exchange(demands, now)
        return @local.exchange(demands, now) if @redis.nil?

        @redis.exchange(demands).tap { |grants| redis_available(grants) }
      rescue *(@redis ? Redis::ERRORS : []) => error
        redis_unavailable(error)
        @local.exchange(demands, now)
      end

      def redis_available(grants)
        @local.workers = grants.workers
        Limits.log("limits: Redis is there again") if @redis_down
        @redis_down = false
      end

      def redis_unavailable(error)
        return if @redis_down

        @redis_down = true
        part = @local.workers > 1 ? "its part of the limits, one of #{@local.workers}" : "the limits for itself"
        Limits.log("limits: Redis cannot be reached (#{error.class}: #{error.message}): this process goes on with " \
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
