# frozen_string_literal: true

require "webrobots"
require_relative "../limits"

module Trunkline
  class Bulk
    class Robots
      # The known robots.txt files. They are shared by all workers of a process, and, with a Redis, by all processes.
      # One worker fetches a file while the others wait for it.
      #
      # @api private
      module Cache
        # Seconds after which a file is fetched again (RFC 9309 2.4).
        MAX_AGE = 86_400
        # The maximum number of files that a process keeps.
        MOST = 10_000
        # Seconds to wait for another process that fetches a file.
        PATIENCE = 20
        # The maximum Crawl-delay, in seconds.
        LONGEST_DELAY = 3600.0
        # The prefix of the keys in Redis.
        PREFIX = "{trunkline-bulk}:robots"
        private_constant :LONGEST_DELAY, :MAX_AGE, :MOST, :PATIENCE, :PREFIX

        # rules: a WebRobots; delay: seconds from one request to the next, 0 for none; fetched_at: monotonic
        # seconds
        File = Struct.new(:rules, :delay, :fetched_at)

        @files = {}
        @rates = {}
        @locks = {}
        @lock = Mutex.new

        class << self
          # @param agent [String]
          # @param origin [String] scheme, host and port
          # @return [File, nil] nil if the file must be fetched
          def read(agent, origin)
            file = @lock.synchronize { @files[[agent, origin]] }
            file if file && now - file.fetched_at <= MAX_AGE
          end

          # @yieldreturn [String] the text; called if no other worker has fetched it
          # @return [File]
          def read_or_fetch(agent, origin, &text)
            lock_origin(origin) { read(agent, origin) || parse_and_store(agent, origin, shared_text(origin, &text)) }
          end

          # @param agent [String]
          # @param label [String] host:port
          # @return [Float, nil] requests a second that the origin's file asks for; nil if it has no Crawl-delay
          def rate(agent, label) = @rates[[agent, label]]

          private

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

          def lock_origin(origin, &block)
            lock = @lock.synchronize { @locks[origin] ||= Mutex.new }
            lock.synchronize(&block)
          ensure
            @lock.synchronize { @locks.delete(origin) unless lock.locked? }
          end

          def parse_and_store(agent, origin, text)
            rules = WebRobots.new(agent, http_get: ->(_) { text }, crawl_delay: :ignore)
            delay = rules.crawl_delay("#{origin}/").to_f.clamp(0.0, LONGEST_DELAY)
            file = File.new(rules, delay, now)
            @lock.synchronize do
              store(@files, [agent, origin], file)
              label = URL.parse("#{origin}/").label
              delay.zero? ? @rates.delete([agent, label]) : store(@rates, [agent, label], 1 / delay)
            end
            file
          end

          def store(hash, key, value)
            hash.shift if hash.size >= MOST
            hash[key] = value
          end

          # @return [String] the text from Redis, or from the block
          def shared_text(origin)
            redis = redis_of_process or return yield

            cached = await_other_process(redis, origin)
            return cached if cached

            text = yield
            ignoring_redis_errors { redis.call("SET", "#{PREFIX}:#{origin}", text, "EX", MAX_AGE) }
            text
          ensure
            ignoring_redis_errors { redis.call("DEL", "#{PREFIX}:getting:#{origin}") } if redis && cached.nil?
          end

          # @return [String, nil] nil if this process must fetch the file
          def await_other_process(redis, origin)
            deadline = now + PATIENCE
            ignoring_redis_errors do
              until (text = redis.call("GET", "#{PREFIX}:#{origin}"))
                return if redis.call("SET", "#{PREFIX}:getting:#{origin}", 1, "NX", "EX", PATIENCE) || now > deadline

                sleep 0.1
              end
              text.force_encoding(Encoding::UTF_8)
            end
          end

          # Ignores errors of Redis: without it, each process fetches its files itself.
          def ignoring_redis_errors
            yield
          rescue *Limits::Redis::ERRORS
            nil
          end

          def redis_of_process
            url = Bulk.configuration.redis or return
            @lock.synchronize do
              @redis = nil if @redis && @redis_of != [url, Process.pid]
              @redis_of = [url, Process.pid]
              @redis ||= Limits::Redis.config(url).new_pool(size: 8, timeout: 1)
            end
          rescue InvalidRequest # without redis-client
            nil
          end
        end
      end
    end
  end
end
