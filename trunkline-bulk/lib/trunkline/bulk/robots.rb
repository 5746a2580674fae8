# frozen_string_literal: true

require "trunkline"
begin
  require "webrobots"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "robots: needs the gem webrobots: add gem \"webrobots\", \"~> 0.1\" to the " \
                                   "Gemfile (#{error.message})"
end

module Trunkline
  class Bulk
    # Asks the robots.txt of each origin (RFC 9309) whether an item may be fetched. Threads get the files, while the
    # items of origins whose file is known go on; the others wait here.
    #
    # @api private
    class Robots
      # Files that are got at once.
      THREADS = 8
      # Seconds after which a file is got again (RFC 9309 2.4).
      KEPT = 86_400
      # Bytes of a file that are read (RFC 9309 2.5).
      SIZE = 512_000
      # Items that wait at most: no more are taken from the source meanwhile.
      MOST = 10_000
      # Seconds until the next try to get a file, at first and at last.
      PAUSES = (1..16)
      # Of a file that cannot be got.
      Unreachable = Class.new(StandardError)
      # Files that a process keeps.
      FILES = 10_000
      private_constant :FILES, :KEPT, :MOST, :PAUSES, :SIZE, :THREADS

      @kept = {}
      @lock = Mutex.new

      class << self
        # @return [WebRobots, nil] of any worker of the process; nil: it is to be got
        def kept(agent, origin, now)
          file, at = @lock.synchronize { @kept[[agent, origin]] }
          file if at && now - at <= KEPT
        end

        # @return [void]
        def keep(agent, origin, file, now)
          @lock.synchronize do
            @kept.shift if @kept.size >= FILES
            @kept[[agent, origin]] = [file, now]
          end
        end
      end

      # @param agent [String] the name that rules are found by
      # @param patience [Numeric] seconds for which a file is tried that cannot be got
      # @raise [InvalidRequest] without webrobots
      def initialize(agent, patience)
        @agent = agent
        @patience = patience
        @unreachable = {} # origin => Unreachable
        @waiting = Hash.new { |all, origin| all[origin] = [] }
        @size = 0
        @wanted = Queue.new
        @got = Queue.new
        @client = Trunkline.new(nil, timeout: 10, follow: 5)
        @threads = []
      end

      # @param entry [Entry]
      # @param origin [String, nil]
      # @param url [String]
      # @return [Boolean, nil] nil: it is not known yet; the entry comes again from #take
      # @raise [Unreachable]
      def allowed?(entry, origin, url)
        return true if origin.nil?

        raise @unreachable[origin] if @unreachable.key?(origin)

        file = Robots.kept(@agent, origin, now)
        file ? file.allowed?(url) : wait(entry, origin)
      rescue ArgumentError, URI::InvalidURIError
        true # the request itself tells what is wrong
      end

      # @return [Entry, nil] one whose file has been got meanwhile
      def take
        until @got.empty?
          origin, error = @got.pop
          @unreachable[origin] = error if error
          (@ready ||= []).concat(@waiting.delete(origin) || [])
        end
        entry = @ready&.shift
        @size -= 1 if entry
        entry
      end

      # @return [Boolean] whether so many wait that no more should come
      def full? = @size >= MOST

      # @return [void]
      def close
        @threads.each(&:kill).each(&:join)
        @client.close
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [nil]
      def wait(entry, origin)
        unless @waiting.key?(origin)
          @wanted << origin
          @threads << Thread.new { loop { get(@wanted.pop) } } if @threads.size < THREADS
        end
        @waiting[origin] << entry
        @size += 1
        nil
      end

      def get(origin)
        body = body_of(origin)
        file = WebRobots.new(@agent, http_get: ->(_) { body }, crawl_delay: :ignore)
        file.allowed?("#{origin}/") # reads it
        Robots.keep(@agent, origin, file, now)
        @got << [origin]
      rescue StandardError => error
        @got << [origin, Unreachable.new("#{origin}/robots.txt cannot be got: #{error.message}")]
      end

      # What cannot be reached allows nothing; a file that is not there allows all (RFC 9309 2.3.1).
      def body_of(origin)
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
