# frozen_string_literal: true

require "trunkline"
begin
  require "webrobots"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "robots: needs the gem webrobots: add gem \"webrobots\", \"~> 0.1\" to the " \
                                   "Gemfile (#{error.message})"
end

require_relative "robots/cache"
require_relative "robots/fetcher"

module Trunkline
  class Bulk
    # Checks items against the robots.txt of their origin (RFC 9309), and applies its Crawl-delay. Items of origins
    # whose file is known continue, while a Fetcher fetches the other files, whose items wait here. Items of an origin
    # with a delay wait here, too: only one of them at a time is in flight, or waits for the limit that #rate returns.
    #
    # @api private
    class Robots
      # The maximum number of waiting items; meanwhile, no more are taken from the source.
      MOST = 10_000
      # The maximum number of origins that are remembered as having a file that cannot be fetched.
      MOST_UNREACHABLE = 10_000
      # Raised for an origin whose file cannot be fetched.
      Unreachable = Class.new(StandardError)
      # An origin with a delay: the entry that is in flight, and the entries that wait for it.
      CrawlDelay = Struct.new(:in_flight, :waiting)
      private_constant :CrawlDelay, :MOST, :MOST_UNREACHABLE

      # @param agent [String] the name by which rules are found
      # @param patience [Numeric] seconds for which the fetch of a file is retried
      # @raise [InvalidRequest] without webrobots
      def initialize(agent, patience)
        @agent = agent
        @fetcher = Fetcher.new(agent, patience)
        @unreachable = {} # origin => Unreachable
        @waiting = Hash.new { |hash, origin| hash[origin] = [] }
        @crawl_delays = {} # origin => CrawlDelay
        @ready = []
        @size = 0
      end

      # @param entry [Entry]
      # @param origin [String, nil]
      # @param url [String]
      # @return [Boolean, nil] nil if the file is not known yet, or it is not the entry's turn; #next_entry returns
      #   the entry later
      # @raise [Unreachable]
      def allowed?(entry, origin, url)
        return true if origin.nil?

        raise @unreachable[origin] if @unreachable.key?(origin)

        file = Cache.read(@agent, origin) or return await_file(entry, origin)
        return false unless file.rules.allowed?(url)

        file.delay.zero? || await_turn(entry, origin)
      rescue ArgumentError, URI::InvalidURIError
        true # the request itself raises for the URL
      end

      # @return [Entry, nil] an entry whose file has been fetched, or whose turn it is
      def next_entry
        while (origin, error = @fetcher.next_result)
          mark_unreachable(origin, error) if error
          @ready.concat(@waiting.delete(origin) || [])
        end
        entry = @ready.shift
        @size -= 1 if entry
        entry
      end

      # @param entry [Entry] whose request has ended, or is not sent
      # @return [void]
      def ended(entry)
        crawl_delay = @crawl_delays[entry.origin]
        return unless crawl_delay && entry.equal?(crawl_delay.in_flight)

        crawl_delay.in_flight = crawl_delay.waiting.shift
        crawl_delay.in_flight ? @ready << crawl_delay.in_flight : @crawl_delays.delete(entry.origin)
      end

      # @return [Boolean] whether the maximum number of items is waiting
      def full? = @size >= MOST

      # The rate that an origin's file asks for, for the Limits of all workers.
      # @param label [String] host:port
      # @return [Float, nil] requests a second
      def rate(label) = Cache.rate(@agent, label)

      # @return [void]
      def close
        @fetcher.close
      end

      private

      # @return [nil]
      def await_file(entry, origin)
        @fetcher.fetch(origin) unless @waiting.key?(origin)
        @waiting[origin] << entry
        @size += 1
        nil
      end

      def mark_unreachable(origin, error)
        @unreachable.shift if @unreachable.size >= MOST_UNREACHABLE
        @unreachable[origin] = Unreachable.new("#{origin}/robots.txt cannot be got: #{error.message}")
      end

      # @return [true, nil] nil if the entry waits
      def await_turn(entry, origin)
        crawl_delay = @crawl_delays[origin] ||= CrawlDelay.new(entry, [])
        return true if entry.equal?(crawl_delay.in_flight)

        crawl_delay.waiting << entry
        @size += 1
        nil
      end
    end
  end
end
