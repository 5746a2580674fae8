# frozen_string_literal: true

require "trunkline"

module Trunkline
  class Bulk
    # The settings of all bulk classes of a process (Bulk.configure).
    class Configuration
      # @return [String, Pathname, State] an SQLite file, or a State
      attr_accessor :state
      # @return [String, nil] the URL of the Redis that stores the limits of all processes
      attr_accessor :redis
      # @return [#warn, #info, nil]
      attr_accessor :logger

      # Omits the URL of Redis, which may contain a password.
      def inspect = "#<#{self.class} state: #{@state.inspect}>"

      def initialize
        @state = "trunkline-bulk.sqlite"
        @redis = ENV.fetch("REDIS_URL", nil)
        @logger = nil
      end
    end
  end
end
