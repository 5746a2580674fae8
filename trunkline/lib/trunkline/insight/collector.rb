# frozen_string_literal: true

require_relative "../engine"
require_relative "../lock"
require_relative "../redacted"
require_relative "report"

module Trunkline
  module Insight
    # Collects the calls of one watch. Safe for use by any number of threads.
    #
    # @api private
    class Collector
      include Redacted

      # Maximum number of calls that are kept; further calls are only counted.
      MOST = 10_000

      # @return [String]
      attr_accessor :name
      # @return [Collector, nil] of the enclosing watch, which gets the same calls
      attr_writer :outer

      def initialize(name, min: LOOP)
        @name = name
        @min = min
        @calls = []
        @dropped = 0
        @lock = Lock.new
        @began = Engine.now
        @ended = nil
      end

      # @param call [Call] ignored when the watch is over
      # @return [void]
      def add(call)
        @lock.synchronize do
          next if @ended

          @calls.size < MOST ? @calls << call : @dropped += 1
        end
        Estimate.learn(call)
        @outer&.add(call)
      end

      # @return [void]
      def close
        @lock.synchronize { @ended = Engine.now }
      end

      # @return [Report]
      def report
        Report.new(name: @name, calls: @calls, duration: @ended - @began, dropped: @dropped, min: @min)
      end
    end
  end
end
