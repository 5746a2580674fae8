# frozen_string_literal: true

require_relative "cache"

module Trunkline
  class Bulk
    class Robots
      # Fetches files in threads. A file that cannot be fetched is retried later, in other threads, so that origins that
      # cannot be reached do not delay the others.
      #
      # @api private
      class Fetcher
        # The number of threads for first fetches, and the number for retries.
        THREADS = 16
        # Bytes of a file that are read (RFC 9309 2.5).
        SIZE = 512_000
        # Seconds before the first retry, and the maximum before a retry.
        PAUSES = (1..32)
        # The next attempt is due after pause seconds, unless that is later than deadline. error: of the last attempt.
        Attempt = Struct.new(:origin, :deadline, :pause, :due, :error)
        private_constant :Attempt, :PAUSES, :SIZE, :THREADS

        # @param agent [String] the name by which rules are found
        # @param patience [Numeric] seconds for which the fetch of a file is retried
        def initialize(agent, patience)
          @agent = agent
          @patience = patience
          @client = Trunkline.new(nil, timeout: 10, follow: 5)
          @first = Queue.new
          @retries = Queue.new
          @finished = Queue.new
          @scheduled = [] # by due
          @threads = { @first => [], @retries => [] }.compare_by_identity
        end

        # @param origin [String] its file is in Cache once #next_result has returned the origin without an error
        # @return [void]
        def fetch(origin)
          enqueue(Attempt.new(origin, now + @patience, PAUSES.begin), @first)
        end

        # @return [Array(String, StandardError), nil] an origin, and the error if its file cannot be fetched; nil if
        #   none is done
        def next_result
          enqueue(@scheduled.shift, @retries) while @scheduled.first && @scheduled.first.due <= now
          until @finished.empty?
            attempt = @finished.pop
            return [attempt.origin, attempt.error] if attempt.error.nil? || now + attempt.pause > attempt.deadline

            schedule_retry(attempt)
          end
        end

        # @return [void]
        def close
          @threads.each_value.flat_map(&:itself).each(&:kill).each(&:join)
          @client.close
        end

        private

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def enqueue(attempt, queue)
          queue << attempt
          threads = @threads[queue]
          threads << Thread.new { loop { attempt_fetch(queue.pop) } } if threads.size < THREADS
        end

        # An attempt that has waited too long for a thread is not repeated.
        def attempt_fetch(attempt)
          return if attempt.error && now > attempt.deadline

          attempt.error = nil
          Cache.read_or_fetch(@agent, attempt.origin) { text_of(attempt.origin) }
        rescue StandardError => error
          attempt.error = error
        ensure
          @finished << attempt
        end

        # A server that cannot be reached disallows all, a missing file allows all (RFC 9309 2.3.1).
        def text_of(origin)
          response = @client.get("#{origin}/robots.txt")
          raise "status #{response.status}" if response.status >= 500

          response.status < 300 ? response.body.byteslice(0, SIZE).force_encoding("UTF-8").scrub : ""
        end

        def schedule_retry(attempt)
          attempt.due = now + attempt.pause
          attempt.pause = [attempt.pause * 2, PAUSES.end].min
          index = @scheduled.bsearch_index { |other| other.due > attempt.due } || @scheduled.size
          @scheduled.insert(index, attempt)
        end
      end
    end
  end
end
