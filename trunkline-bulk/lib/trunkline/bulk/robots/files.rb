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
      module Files
        # Seconds after which a file is fetched again (RFC 9309 2.4).
        KEPT = 86_400
        # The maximum number of files that a process keeps.
        MOST = 10_000
        # Seconds to wait for another process that fetches a file.
        PATIENCE = 20
        # The maximum Crawl-delay, in seconds.
        LONGEST_DELAY = 3600.0
        # The prefix of the keys in Redis.
        PREFIX = "{trunkline-bulk}:robots"
        private_constant :KEPT, :LONGEST_DELAY, :MOST, :PATIENCE, :PREFIX

        # rules: a WebRobots; delay: seconds from one request to the next, 0 for none; at: monotonic seconds of the
        # fetch
        File = Struct.new(:rules, :delay, :at)

        @kept = {}
        @rates = {}
        @getting = {}
        @lock = Mutex.new

        class << self
          # @param agent [String]
          # @param origin [String] scheme, host and port
          # @return [File, nil] nil if the file must be fetched
          def kept(agent, origin)
            file = @lock.synchronize { @kept[[agent, origin]] }
            file if file && now - file.at <= KEPT
          end

          # @yieldreturn [String] the text; called if no other worker has fetched it
          # @return [File]
          def get(agent, origin, &text)
            one_at_a_time(origin) { kept(agent, origin) || keep(agent, origin, shared(origin, &text)) }
          end

          # @param agent [String]
          # @param label [String] host:port
          # @return [Float, nil] requests a second that the origin's file asks for; nil if it has no Crawl-delay
          def rate(agent, label) = @rates[[agent, label]]

          private

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

          def one_at_a_time(origin, &block)
            turn = @lock.synchronize { @getting[origin] ||= Mutex.new }
            turn.synchronize(&block)
          ensure
            @lock.synchronize { @getting.delete(origin) unless turn.locked? }
          end

          def keep(agent, origin, text)
            rules = WebRobots.new(agent, http_get: ->(_) { text }, crawl_delay: :ignore)
            delay = rules.crawl_delay("#{origin}/").to_f.clamp(0.0, LONGEST_DELAY)
            file = File.new(rules, delay, now)
            @lock.synchronize do
              put(@kept, [agent, origin], file)
              label = URL.parse("#{origin}/").label
              delay.zero? ? @rates.delete([agent, label]) : put(@rates, [agent, label], 1 / delay)
            end
            file
          end

          def put(all, key, value)
            all.shift if all.size >= MOST
            all[key] = value
          end

          # @return [String] the text from Redis, or from the block
          def shared(origin)
            redis = redis_of_process or return yield

            text = await(redis, origin)
            return text if text

            got = yield
            reach { redis.call("SET", "#{PREFIX}:#{origin}", got, "EX", KEPT) }
            got
          ensure
            reach { redis.call("DEL", "#{PREFIX}:getting:#{origin}") } if redis && text.nil?
          end

          # @return [String, nil] nil if this process must fetch the file
          def await(redis, origin)
            limit = now + PATIENCE
            reach do
              until (text = redis.call("GET", "#{PREFIX}:#{origin}"))
                return if redis.call("SET", "#{PREFIX}:getting:#{origin}", 1, "NX", "EX", PATIENCE) || now > limit

                sleep 0.1
              end
              text.force_encoding(Encoding::UTF_8)
            end
          end

          # Ignores errors of Redis: without it, each process fetches its files itself.
          def reach
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
