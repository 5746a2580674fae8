# frozen_string_literal: true

require_relative "files"

module Trunkline
  class Bulk
    class Robots
      # Fetches files in threads. A file that cannot be fetched is retried later, in other threads, so that origins that
      # cannot be reached do not delay the others.
      #
      # @api private
      class Getter
        # The number of threads for first fetches, and the number for retries.
        THREADS = 16
        # Bytes of a file that are read (RFC 9309 2.5).
        SIZE = 512_000
        # Seconds before the first retry, and the maximum before a retry.
        PAUSES = (1..32)
        # The next attempt is due after pause seconds, unless that is later than limit. error: of the last attempt.
        Attempt = Struct.new(:origin, :limit, :pause, :due, :error)
        private_constant :Attempt, :PAUSES, :SIZE, :THREADS

        # @param agent [String] the name by which rules are found
        # @param patience [Numeric] seconds for which the fetch of a file is retried
        def initialize(agent, patience)
          @agent = agent
          @patience = patience
          @client = Trunkline.new(nil, timeout: 10, follow: 5)
          @first = Queue.new
          @again = Queue.new
          @tried = Queue.new
          @later = [] # by due
          @threads = { @first => [], @again => [] }.compare_by_identity
        end

        # @param origin [String] its file is in Files once #take has returned the origin without an error
        # @return [void]
        def get(origin)
          try(Attempt.new(origin, now + @patience, PAUSES.begin), @first)
        end

        # @return [Array(String, StandardError), nil] an origin, and the error if its file cannot be fetched; nil if
        #   none is done
        def take
          try(@later.shift, @again) while @later.first && @later.first.due <= now
          until @tried.empty?
            attempt = @tried.pop
            return [attempt.origin, attempt.error] if attempt.error.nil? || now + attempt.pause > attempt.limit

            wait_for(attempt)
          end
        end

        # @return [void]
        def close
          @threads.each_value.flat_map(&:itself).each(&:kill).each(&:join)
          @client.close
        end

        private

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def try(attempt, queue)
          queue << attempt
          threads = @threads[queue]
          threads << Thread.new { loop { finish(queue.pop) } } if threads.size < THREADS
        end

        # An attempt that has waited too long for a thread is not repeated.
        def finish(attempt)
          return if attempt.error && now > attempt.limit

          attempt.error = nil
          Files.get(@agent, attempt.origin) { text_of(attempt.origin) }
        rescue StandardError => error
          attempt.error = error
        ensure
          @tried << attempt
        end

        # A server that cannot be reached disallows all, a missing file allows all (RFC 9309 2.3.1).
        def text_of(origin)
          response = @client.get("#{origin}/robots.txt")
          raise "status #{response.status}" if response.status >= 500

          response.status < 300 ? response.body.byteslice(0, SIZE).force_encoding("UTF-8").scrub : ""
        end

        def wait_for(attempt)
          attempt.due = now + attempt.pause
          attempt.pause = [attempt.pause * 2, PAUSES.end].min
          at = @later.bsearch_index { |other| other.due > attempt.due } || @later.size
          @later.insert(at, attempt)
        end
      end
    end
  end
end
