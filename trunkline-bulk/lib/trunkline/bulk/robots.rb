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
    # Checks items against the robots.txt of their origin (RFC 9309), and applies its Crawl-delay. Items of origins
    # whose file is known continue, while a Getter fetches the other files, whose items wait here. Items of an origin
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
      Delayed = Struct.new(:under_way, :waiting)
      private_constant :Delayed, :MOST, :MOST_UNREACHABLE

      # @param agent [String] the name by which rules are found
      # @param patience [Numeric] seconds for which the fetch of a file is retried
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
      # @return [Boolean, nil] nil if the file is not known yet, or it is not the entry's turn; #take returns the entry
      #   later
      # @raise [Unreachable]
      def allowed?(entry, origin, url)
        return true if origin.nil?

        raise @unreachable[origin] if @unreachable.key?(origin)

        file = Files.kept(@agent, origin) or return await(entry, origin)
        return false unless file.rules.allowed?(url)

        file.delay.zero? || turn_of(entry, origin)
      rescue ArgumentError, URI::InvalidURIError
        true # the request itself raises for the URL
      end

      # @return [Entry, nil] an entry whose file has been fetched, or whose turn it is
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

      # @return [Boolean] whether the maximum number of items is waiting
      def full? = @size >= MOST

      # The rate that an origin's file asks for, for the Limits of all workers.
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

      # @return [true, nil] nil if the entry waits
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
