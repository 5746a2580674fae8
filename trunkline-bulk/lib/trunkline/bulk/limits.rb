# frozen_string_literal: true

require_relative "limits/alone"
require_relative "limits/share"

module Trunkline
  class Bulk
    # What all workers together may do with each origin: the store of a client's rate. A thread gets the shares of this
    # process, of all origins at once, several times a second while they are used.
    #
    # When Redis cannot be reached, each process goes on with its part of the limits, by the number of workers that
    # there were; it is told once, and so is the end of it. A Redis that lost its data knows what is in flight again
    # within an interval.
    class Limits
      # Origins in one call.
      MOST = 500
      # Seconds after which a share that is not used is forgotten.
      KEPT = 60
      private_constant :KEPT, :MOST

      @known = {}
      @opening = Mutex.new

      class << self
        # @param url [String, nil] of Redis; nil: this process alone
        # @return [Limits] the one of this process
        # @raise [InvalidRequest] without redis-client
        def at(url)
          @opening.synchronize { @known[[url, Process.pid]] ||= new(url && Redis.new(url)) }
        end

        # Says, once, that limits hold for each process alone.
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
      # @param threaded [Boolean] false: #step is called by somebody else
      def initialize(shared, threaded: true)
        @shared = shared
        @threaded = threaded
        @alone = Alone.new
        @shares = {}
        @lock = Mutex.new
        @used = ConditionVariable.new
      end

      # @param most_in_flight [Integer, nil] to each origin, by all workers
      # @param rates [#rate, nil] what origins ask for by themselves, requests a second
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

      # Gets what is asked for.
      # @param now [Float] monotonic seconds
      # @return [Float] seconds until the next
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

      # Who asks for the shares of an origin of one client.
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
