# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # The validations that run in the background: at most one for each stored response at a time.
      class Revalidations
        include Redacted

        # Number of finished validations that are remembered, for calls that read the stored response before the
        # validation ended.
        REMEMBERED = 100
        private_constant :REMEMBERED

        # @return [Integer] number of finished validations
        attr_reader :count

        def initialize
          @keys = {}
          @finished = {}
          @count = 0
          @lock = Lock.new
          @pid = Process.pid
        end

        # @param key [String]
        # @param read_at [Integer] #count before the response was read; a response validated since then is not validated
        #   again
        # @return [Boolean] whether the caller must validate the response
        def begin?(key, read_at)
          @lock.synchronize do
            # The validations of the parent process do not run in a forked child.
            @keys.clear unless @pid == Process.pid
            @pid = Process.pid
            @keys.key?(key) || @finished.fetch(key, 0) > read_at ? false : @keys[key] = true
          end
        end

        # @param key [String]
        # @return [void]
        def end(key)
          @lock.synchronize do
            @keys.delete(key)
            @finished.delete(key)
            @finished[key] = @count += 1
            @finished.shift if @finished.size > REMEMBERED
          end
        end
      end
    end
  end
end
