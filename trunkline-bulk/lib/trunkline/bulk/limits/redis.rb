# frozen_string_literal: true

require "securerandom"
begin
  require "redis_client"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "redis: needs the gem redis-client: add gem \"redis-client\", \">= 0.22\" to the " \
                                   "Gemfile (#{error.message})"
end
require_relative "demand"

module Trunkline
  class Bulk
    class Limits
      # Divides the limits of a fleet among its workers: the token bucket and the requests in flight of each origin are
      # in Redis, and one script grants a worker its part of all of them for an interval. The interval grows with the
      # number of workers, so that all of them together call Redis CALLS times a second, but each calls at least every
      # LIFE / 3 seconds.
      #
      # @api private
      class Redis
        SCRIPT = File.read(File.join(__dir__, "leases.lua")).freeze
        # Calls per second by all workers together.
        CALLS = 80
        # Seconds without a call after which a worker's grants expire.
        LIFE = 15.0
        # The prefix of all keys; its hash tag puts them into one slot of a cluster.
        PREFIX = "{trunkline-bulk}"
        ERRORS = [RedisClient::Error, SystemCallError].freeze
        private_constant :CALLS, :LIFE, :PREFIX, :SCRIPT

        # @param url [String]
        # @return [RedisClient::Config]
        def self.config(url) = RedisClient.config(url: url, timeout: 1, reconnect_attempts: 1)

        # @param url [String]
        # @param clock [#call, nil] returns milliseconds, for a simulation; nil for the clock of Redis
        def initialize(url, clock: nil)
          @redis = Redis.config(url).new_client
          @clock = clock
          @worker = SecureRandom.alphanumeric(16)
        end

        # @param demands [Array<Demand>]
        # @return [Grants]
        # @raise [RedisClient::Error]
        def exchange(demands)
          interval, workers, *granted = run(keys(demands), values(demands))
          grants = granted.each_slice(3).map { |starts, in_flight, pause| Grant.new(starts, in_flight, pause / 1000.0) }
          Grants.new(interval / 1000.0, workers, grants)
        end

        # Omits the URL, which may contain a password.
        def inspect = "#<#{self.class} #{@worker}>"

        # @return [void]
        def close = @redis.close

        private

        # A Redis that was restarted has lost the script.
        def run(keys, values)
          @digest ||= @redis.call("SCRIPT", "LOAD", SCRIPT)
          @redis.call("EVALSHA", @digest, keys.size, *keys, *values)
        rescue RedisClient::CommandError => error
          raise unless error.message.start_with?("NOSCRIPT")

          @redis.call("EVAL", SCRIPT, keys.size, *keys, *values)
        end

        def keys(demands)
          demands.each_with_object(["#{PREFIX}:workers"]) do |demand, keys|
            keys << "#{PREFIX}:starts:#{demand.per_second}:#{demand.origin}"
            keys << "#{PREFIX}:flying:#{demand.max_in_flight}:#{demand.origin}" << "#{PREFIX}:pause:#{demand.origin}"
          end
        end

        def values(demands)
          first = [@worker, (LIFE * 1000).to_i, CALLS, @clock ? @clock.call : ""]
          demands.each_with_object(first) do |demand, values|
            values.push(demand.per_second, demand.wanted, demand.max_in_flight, demand.in_flight,
                        demand.wanted_in_flight, (demand.pause * 1000).ceil)
          end
        end
      end
    end
  end
end
