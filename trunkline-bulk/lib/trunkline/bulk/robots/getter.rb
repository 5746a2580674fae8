# frozen_string_literal: true

require_relative "files"

module Trunkline
  class Bulk
    class Robots
      # Gets files in threads. One that cannot be got is tried again later, in other threads: origins that cannot be
      # reached hold up nobody but themselves.
      #
      # @api private
      class Getter
        # Files that are got for the first time at once, and as many that are tried again.
        THREADS = 16
        # Bytes of a file that are read (RFC 9309 2.5).
        SIZE = 512_000
        # Seconds until the next try, at first and at last.
        PAUSES = (1..32)
        # The next is due after pause seconds, and not when that is after limit; error: of the last one.
        Attempt = Struct.new(:origin, :limit, :pause, :due, :error)
        private_constant :Attempt, :PAUSES, :SIZE, :THREADS

        # @param agent [String] the name that rules are found by
        # @param patience [Numeric] seconds for which a file is tried that cannot be got
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

        # @param origin [String] whose file is in Files when #take has given it, unless with an error
        # @return [void]
        def get(origin)
          try(Attempt.new(origin, now + @patience, PAUSES.begin), @first)
        end

        # @return [Array(String, StandardError), nil] an origin, and why its file cannot be got; nil: none has come
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

        # One that has waited for a thread for too long is not tried any more.
        def finish(attempt)
          return if attempt.error && now > attempt.limit

          attempt.error = nil
          Files.get(@agent, attempt.origin) { text_of(attempt.origin) }
        rescue StandardError => error
          attempt.error = error
        ensure
          @tried << attempt
        end

        # What cannot be reached allows nothing; a file that is not there allows all (RFC 9309 2.3.1).
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
