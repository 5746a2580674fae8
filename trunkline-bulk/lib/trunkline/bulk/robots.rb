# frozen_string_literal: true

require "trunkline"
begin
  require "webrobots"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "robots: needs the gem webrobots: add gem \"webrobots\", \"~> 0.1\" to the " \
                                   "Gemfile (#{error.message})"
end

require_relative "robots/files"
require_relative "robots/getter"

module Trunkline
  class Bulk
    # Asks the robots.txt of each origin (RFC 9309) whether an item may be fetched, and keeps to its Crawl-delay. Items
    # of origins whose file is known go on while a Getter gets the others, whose items wait here. So do those of an
    # origin with a delay: one of them is under way at a time, or waits for the limit that #rate tells.
    #
    # @api private
    class Robots
      # Items that wait at most: no more are taken from the source meanwhile.
      MOST = 10_000
      # Origins of which it is known that their file cannot be got.
      MOST_UNREACHABLE = 10_000
      # Of a file that cannot be got.
      Unreachable = Class.new(StandardError)
      # Of an origin with a delay: the entry that is under way, and those that wait for it.
      Delayed = Struct.new(:under_way, :waiting)
      private_constant :Delayed, :MOST, :MOST_UNREACHABLE

      # @param agent [String] the name that rules are found by
      # @param patience [Numeric] seconds for which a file is tried that cannot be got
      # @raise [InvalidRequest] without webrobots
      def initialize(agent, patience)
        @agent = agent
        @getter = Getter.new(agent, patience)
        @unreachable = {} # origin => Unreachable
        @waiting = Hash.new { |all, origin| all[origin] = [] }
        @delayed = {} # origin => Delayed
        @ready = []
        @size = 0
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
        while (origin, error = @getter.take)
          refuse(origin, error) if error
          @ready.concat(@waiting.delete(origin) || [])
        end
        entry = @ready.shift
        @size -= 1 if entry
        entry
      end

      # @param entry [Entry] whose request has ended, or is not sent
      # @return [void]
      def ended(entry)
        delayed = @delayed[entry.origin]
        return unless delayed && entry.equal?(delayed.under_way)

        delayed.under_way = delayed.waiting.shift
        delayed.under_way ? @ready << delayed.under_way : @delayed.delete(entry.origin)
      end

      # @return [Boolean] whether so many wait that no more should come
      def full? = @size >= MOST

      # What the files say, for Limits of all workers.
      # @param label [String] host:port
      # @return [Float, nil] requests a second
      def rate(label) = Files.rate(@agent, label)

      # @return [void]
      def close
        @getter.close
      end

      private

      # @return [nil]
      def await(entry, origin)
        @getter.get(origin) unless @waiting.key?(origin)
        @waiting[origin] << entry
        @size += 1
        nil
      end

      def refuse(origin, error)
        @unreachable.shift if @unreachable.size >= MOST_UNREACHABLE
        @unreachable[origin] = Unreachable.new("#{origin}/robots.txt cannot be got: #{error.message}")
      end

      # @return [true, nil] nil: it waits
      def turn_of(entry, origin)
        delayed = @delayed[origin] ||= Delayed.new(entry, [])
        return true if entry.equal?(delayed.under_way)

        delayed.waiting << entry
        @size += 1
        nil
      end
    end
  end
end
