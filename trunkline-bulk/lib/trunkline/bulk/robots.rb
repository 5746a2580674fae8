# frozen_string_literal: true

require "trunkline"
begin
  require "webrobots"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "robots: needs the gem webrobots: add gem \"webrobots\", \"~> 0.1\" to the " \
                                   "Gemfile (#{error.message})"
end

require_relative "robots/files"

module Trunkline
  class Bulk
    # Asks the robots.txt of each origin (RFC 9309) whether an item may be fetched, and keeps to its Crawl-delay.
    # Threads get the files, while the items of origins whose file is known go on; the others wait here, and so do those
    # of an origin with a delay: one of them is under way at a time, or waits for the limit that #rate tells.
    #
    # @api private
    class Robots
      # Files that are got at once.
      THREADS = 8
      # Bytes of a file that are read (RFC 9309 2.5).
      SIZE = 512_000
      # Items that wait at most: no more are taken from the source meanwhile.
      MOST = 10_000
      # Seconds until the next try to get a file, at first and at last.
      PAUSES = (1..16)
      # Of a file that cannot be got.
      Unreachable = Class.new(StandardError)
      # Of an origin with a delay: entries, and the one that is under way.
      Delayed = Struct.new(:waiting, :under_way)
      private_constant :Delayed, :MOST, :PAUSES, :SIZE, :THREADS

      # @param agent [String] the name that rules are found by
      # @param patience [Numeric] seconds for which a file is tried that cannot be got
      # @raise [InvalidRequest] without webrobots
      def initialize(agent, patience)
        @agent = agent
        @patience = patience
        @unreachable = {} # origin => Unreachable
        @waiting = Hash.new { |all, origin| all[origin] = [] }
        @delayed = {} # origin => Delayed
        @ready = []
        @size = 0
        @wanted = Queue.new
        @got = Queue.new
        @client = Trunkline.new(nil, timeout: 10, follow: 5)
        @threads = []
      end

      # @param entry [Entry]
      # @param origin [String, nil]
      # @param url [String]
      # @return [Boolean, nil] nil: it is not known yet, or not its turn; the entry comes again from #take
      # @raise [Unreachable]
      def allowed?(entry, origin, url)
        return true if origin.nil?

        raise @unreachable[origin] if @unreachable.key?(origin)

        file = Files.kept(@agent, origin) or return await(entry, origin)
        return false unless file.rules.allowed?(url)

        file.delay.zero? || turn_of(entry, origin)
      rescue ArgumentError, URI::InvalidURIError
        true # the request itself tells what is wrong
      end

      # @return [Entry, nil] one whose file has been got meanwhile, or whose turn it is
      def take
        until @got.empty?
          origin, error = @got.pop
          @unreachable[origin] = error if error
          @ready.concat(@waiting.delete(origin) || [])
        end
        entry = @ready.shift || next_delayed
        @size -= 1 if entry
        entry
      end

      # @param entry [Entry] whose request has ended, or is not sent
      # @return [void]
      def ended(entry)
        delayed = @delayed[entry.origin]
        delayed.under_way = nil if delayed && entry.equal?(delayed.under_way)
      end

      # @return [Boolean] whether so many wait that no more should come
      def full? = @size >= MOST

      # What the files say, for Limits of all workers.
      # @param label [String] host:port
      # @return [Float, nil] requests a second
      def rate(label) = Files.rate(@agent, label)

      # @return [void]
      def close
        @threads.each(&:kill).each(&:join)
        @client.close
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [nil]
      def await(entry, origin)
        unless @waiting.key?(origin)
          @wanted << origin
          @threads << Thread.new { loop { get(@wanted.pop) } } if @threads.size < THREADS
        end
        @waiting[origin] << entry
        @size += 1
        nil
      end

      # @return [true, nil] nil: it waits
      def turn_of(entry, origin)
        delayed = @delayed[origin] ||= Delayed.new([])
        return true if entry.equal?(delayed.under_way)

        delayed.waiting << entry
        @size += 1
        nil
      end

      def next_delayed
        delayed = @delayed.each_value.find { |one| one.under_way.nil? && one.waiting.any? } or return
        delayed.under_way = delayed.waiting.shift
      end

      def get(origin)
        Files.get(@agent, origin) { text_of(origin) }
        @got << [origin]
      rescue StandardError => error
        @got << [origin, Unreachable.new("#{origin}/robots.txt cannot be got: #{error.message}")]
      end

      # What cannot be reached allows nothing; a file that is not there allows all (RFC 9309 2.3.1).
      def text_of(origin)
        limit = now + @patience
        pause = PAUSES.begin
        begin
          response = @client.get("#{origin}/robots.txt")
          raise "status #{response.status}" if response.status >= 500

          response.status < 300 ? response.body.byteslice(0, SIZE).force_encoding("UTF-8").scrub : ""
        rescue StandardError
          raise if now + pause > limit

          sleep pause
          pause = [pause * 2, PAUSES.end].min
          retry
        end
      end
    end
  end
end
