# frozen_string_literal: true

require "trunkline"

module Trunkline
  class Bulk
    # What holds for all bulk classes of a process (Bulk.configure).
    class Configuration
      # @return [String, Pathname, State] a file of SQLite, or a State
      attr_accessor :state
      # @return [String, nil] the URL of the Redis that limits of all processes are in
      attr_accessor :redis
      # @return [#warn, #info, nil]
      attr_accessor :logger

      # Without the URL of Redis, which may have a password.
      def inspect = "#<#{self.class} state: #{@state.inspect}>"

      def initialize
        @state = "trunkline-bulk.sqlite"
        @redis = ENV.fetch("REDIS_URL", nil)
        @logger = nil
      end
    end
  end
end
